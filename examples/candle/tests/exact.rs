//! A quantised model whose products candle computes in f32. That is chosen by an environment variable: this
//! test is alone in its process.

mod common;

use candle_core::Result;
use common::{agreed, asked};

// With the weights as they are and arithmetic in f32, logits differ by 0.00002, and whatever it says must be
// the same.
#[test]
fn a_llama_with_quantised_weights_says_the_same_as_on_the_cpu() -> Result<()> {
    // SAFETY: this is the only test of the program, so that no other thread reads the environment now.
    unsafe { std::env::set_var("CANDLE_DEQUANTIZE_ALL", "1") };
    let text = agreed(&asked("What is the capital of France, and what is it known for?", ""))?;
    assert!(text.contains("Paris"), "{text}");
    Ok(())
}

//! Latencies of the smallest operations.

use std::time::Instant;

use hip::{DeviceBuffer, Event};

use crate::check::Check;
use crate::context::{Case, Clock, Context};
use crate::error::Result;

const GROUP: &str = "latency";
/// Launches in a row: the cost of each when it does not wait for anything else.
const LAUNCHES: usize = 16;

fn case(name: &str) -> Case {
    Case { group: GROUP, name: name.to_owned(), ..Case::default() }
}

/// The state of all cases: a number on the device, and how often it has been set.
struct Counter {
    number: DeviceBuffer<u32>,
    set: u32,
}

impl Counter {
    /// Lets a kernel set the number to another one.
    fn launch(&mut self, context: &Context<'_>) -> Result<()> {
        self.set = self.set.wrapping_add(1);
        Ok(context.kernels.fill(&context.stream, self.set, &mut self.number)?)
    }

    /// The last launch is done.
    fn check(&self, context: &Context<'_>) -> Result<Check> {
        Ok(Check::same(&self.number.to_vec(&context.stream)?, &[self.set]))
    }
}

/// Launches and events, timed by the host's clock and by the device's.
pub(crate) fn measure(context: &mut Context<'_>) -> Result<()> {
    let mut counter = Counter { number: DeviceBuffer::zeroed(&context.stream, 1)?, set: 0 };
    context.measure(
        case("launch, until it is enqueued"),
        Clock::Host,
        &mut counter,
        |context, counter| counter.launch(context),
        |context, counter| counter.check(context),
    )?;
    context.measure(
        case("launch, until it is done"),
        Clock::Host,
        &mut counter,
        |context, counter| {
            counter.launch(context)?;
            Ok(context.stream.synchronize()?)
        },
        |context, counter| counter.check(context),
    )?;
    let mut row = case(&format!("{LAUNCHES} launches in a row, on the device"));
    row.other.push(("launches", LAUNCHES.into()));
    context.measure(
        row,
        Clock::Device,
        &mut counter,
        |context, counter| (0..LAUNCHES).try_for_each(|_| counter.launch(context)),
        |context, counter| counter.check(context),
    )?;
    let event = Event::new(context.device())?;
    context.measure(
        case("event, until it is recorded"),
        Clock::Host,
        &mut counter,
        |context, _| Ok(event.record(&context.stream)?),
        |_, _| Ok(Check::same(&[event.is_done()?], &[true])),
    )?;
    context.measure(
        case("event, until it is seen"),
        Clock::Host,
        &mut counter,
        |context, _| {
            event.record(&context.stream)?;
            Ok(event.synchronize()?)
        },
        |_, _| Ok(Check::same(&[event.is_done()?], &[true])),
    )?;
    between_events(context)
}

/// The device's time between two events with nothing between them. The host's between them is at least that.
fn between_events(context: &mut Context<'_>) -> Result<()> {
    let case = case("two events in a row, on the device");
    (context.tell)(&format!("{GROUP}: {}", case.name));
    let mut worst = Check { error: 0.0, bound: 1.0 };
    let mut seconds = Vec::new();
    for repetition in 0..context.method.warm_up + context.method.repetitions {
        let before = Instant::now();
        let start = context.stream.record()?;
        let end = context.stream.record()?;
        let elapsed = end.elapsed_since(&start)?.as_secs_f64();
        // HIP returns milliseconds as an f32, from a clock that may tick at 25 MHz.
        worst = worst.worse(Check { error: elapsed, bound: before.elapsed().as_secs_f64() + 1e-6 });
        if repetition >= context.method.warm_up {
            seconds.push(elapsed);
        }
    }
    if !worst.passed() {
        let (error, bound) = (worst.error, worst.bound);
        return Err(crate::Error::Wrong { group: GROUP, name: case.name, error, bound });
    }
    context.note(case, seconds, 1, worst);
    Ok(())
}

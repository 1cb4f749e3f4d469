"""LoRA adapters of PEFT with weights that a formula gives, and the logits of `transformers` and `peft` in f64.

    pip install torch transformers peft
    python adapters.py > adapters.json

The models are those of `hugging_face.py`, and the output has each adapter's settings and tensors.
"""

import json
import os
import sys
import tempfile

import peft
import torch
import transformers
from safetensors.numpy import load_file, save_file

import hugging_face

ADAPTERS = [
    ("llama", dict(r=4, lora_alpha=8, target_modules=["q_proj", "v_proj", "down_proj", "lm_head"])),
    ("qwen3", dict(r=8, lora_alpha=4, use_rslora=True, target_modules="all-linear")),
    ("gemma3", dict(r=3, lora_alpha=6, target_modules=["k_proj", "o_proj", "gate_proj"])),
    ("qwen3.5", dict(r=4, lora_alpha=8, target_modules=["q_proj", "in_proj_qkv", "in_proj_b", "out_proj", "up_proj"])),
]


def main():
    results = []
    models = {name: rest for name, *rest in hugging_face.models()}
    for name, settings in ADAPTERS:
        print(name, file=sys.stderr, flush=True)
        config, kind, differences = models[name]
        with tempfile.TemporaryDirectory() as folder:
            hugging_face.run(folder, config, kind, differences)
            load = lambda: getattr(transformers, kind).from_pretrained(
                folder, dtype=torch.float64, attn_implementation="eager", experts_implementation="eager"
            )
            place = os.path.join(folder, "adapter")
            peft.get_peft_model(load(), peft.LoraConfig(task_type="CAUSAL_LM", **settings)).save_pretrained(place, save_embedding_layers=False)
            path = os.path.join(place, "adapter_model.safetensors")
            tensors = [[tensor, list(x.shape), "matrix"] for tensor, x in sorted(load_file(path).items())]
            save_file({t: hugging_face.numbers(t, shape, fill) for t, shape, fill in tensors}, path, metadata={"format": "pt"})
            model = peft.PeftModel.from_pretrained(load(), place).double().eval()
            with torch.no_grad():
                logits = model(torch.tensor([hugging_face.TOKENS])).logits[0].numpy()
            with open(os.path.join(place, "adapter_config.json")) as file:
                prompt = [hugging_face.summary(row) for row in logits]
                results.append({"model": name, "config": json.load(file), "tensors": tensors, "prompt": prompt})
    made_by = f"transformers {transformers.__version__}, peft {peft.__version__}"
    print(json.dumps({"made_by": made_by, "adapters": results}, separators=(",", ":")))


if __name__ == "__main__":
    main()

//! `flashd llm` from outside, on a small model made here.

use crate::common::refusal;
use flashd_llm::{Checkpoint, Config, RecordHeads, Runner};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

/// Numbers in -1 to 1.
fn tensor(seed: u64, n: usize, scale: f32) -> Vec<f32> {
    let mut state = seed;
    let next = |_| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        scale * ((state >> 40) as f32 / (1u64 << 23) as f32 - 1.0)
    };
    (0..n).map(next).collect()
}

/// Bytes for tokens, two layers of two heads of eight.
fn model() -> Checkpoint {
    let config = Config {
        dim: 16,
        hidden: 24,
        layers: 2,
        heads: 2,
        kv_heads: 1,
        vocab: 259,
        context: 48,
        shared_classifier: true,
    };
    let (dim, kv, hidden, layers) = (config.dim, config.kv_dim(), config.hidden, config.layers);
    Checkpoint {
        config,
        embedding: tensor(1, config.vocab * dim, 1.0),
        rms_att: vec![1.0; layers * dim],
        wq: tensor(2, layers * dim * dim, 1.0),
        wk: tensor(3, layers * kv * dim, 1.0),
        wv: tensor(4, layers * kv * dim, 0.5),
        wo: tensor(5, layers * dim * dim, 0.5),
        rms_ffn: vec![1.0; layers * dim],
        w1: tensor(6, layers * hidden * dim, 0.5),
        w2: tensor(7, layers * dim * hidden, 0.5),
        w3: tensor(8, layers * hidden * dim, 0.5),
        rms_final: vec![1.0; dim],
        classifier: None,
    }
}

/// A vocabulary of bytes.
fn tokenizer() -> Vec<u8> {
    let special = ["<unk>", "\n<s>\n", "\n</s>\n"].map(String::from);
    let pieces = special.into_iter().chain((0..=255).map(|byte| format!("<0x{byte:02X}>")));
    let mut file = 7i32.to_le_bytes().to_vec();
    for piece in pieces {
        file.extend(0f32.to_le_bytes());
        file.extend((piece.len() as i32).to_le_bytes());
        file.extend(piece.as_bytes());
    }
    file
}

/// A model, its tokenizer and a text, as model.bin, tokenizer.bin and text.txt.
pub fn write_files(folder: &Path) {
    std::fs::write(folder.join("model.bin"), model().to_bytes()).unwrap();
    std::fs::write(folder.join("tokenizer.bin"), tokenizer()).unwrap();
    std::fs::write(folder.join("text.txt"), "a text to predict, a text").unwrap();
}

struct Files(tempfile::TempDir);

impl Files {
    fn new() -> Files {
        let files = Files(tempfile::tempdir().unwrap());
        write_files(files.0.path());
        files
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).to_str().unwrap().to_string()
    }

    fn run(&self, args: &[&str]) -> Output {
        let (model, tokenizer) = (self.path("model.bin"), self.path("tokenizer.bin"));
        Command::new(env!("CARGO_BIN_EXE_flashd"))
            .args(["llm", "--checkpoint", &model, "--tokenizer", &tokenizer])
            .args(args)
            .output()
            .unwrap()
    }

    fn json(&self, args: &[&str]) -> Value {
        let out = self.run(&[args, &["--json"]].concat());
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        serde_json::from_slice(&out.stdout).unwrap()
    }

    /// Runs a command that must fail with exit code 2.
    fn refused(&self, args: &[&str]) -> String {
        refusal(self.run(args), args)
    }
}

#[test]
fn a_core_is_compared_with_f32() {
    let files = Files::new();
    let text = files.path("text.txt");
    for (attention, format) in [("flash-d", "bf16"), ("fa2", "fp8-e4m3")] {
        let report = files.json(&[
            "--prompt",
            "ab",
            "--steps",
            "30",
            "--attention",
            attention,
            "--format",
            format,
            "--text",
            &text,
            "--hold",
            "3",
        ]);
        let (f32, core) = (&report["f32"], &report["core"]);
        assert_eq!(report["prompt_tokens"], 3);
        assert!(f32["text"].as_str().unwrap().starts_with("ab"));
        assert!(core["text"].as_str().unwrap().starts_with("ab"));
        assert_eq!(core["same_text"], f32["tokens"] == core["tokens"]);
        assert_eq!(core["same_text"], core["comparison"]["difference"].is_null());
        // Both have met the prompt.
        assert!(core["comparison"]["common"].as_u64().unwrap() >= 3);
        assert!(core["comparison"]["max_logit_error"].as_f64().unwrap() > 0.0);
        assert_eq!(core["perplexity"]["tokens"], 25);
        assert_eq!(core["held"].as_array().unwrap().len(), 2);
        let positions = core["tokens"].as_array().unwrap().len() - 1;
        for layer in core["held"].as_array().unwrap() {
            assert_eq!(layer["generation"]["steps"], 2 * positions * (positions + 1) / 2);
            assert_eq!(layer["text"]["steps"], 2 * 25 * 26 / 2);
        }
    }
}

#[test]
fn f32_alone_and_the_printed_report() {
    let files = Files::new();
    let report = files.json(&["--attention", "f32", "--steps", "5"]);
    assert!(report["core"].is_null() && report["f32"]["perplexity"].is_null());
    let out = files.run(&["--steps", "10", "--text", &files.path("text.txt"), "--tokens", "7"]);
    let text = String::from_utf8(out.stdout).unwrap();
    assert!(
        text.contains("flash_d_bf16_d8") && text.contains("over 7 tokens") && text.contains("held, text")
    );
}

#[test]
fn bad_input_is_refused() {
    let files = Files::new();
    assert!(files.refused(&["--steps", "49"]).contains("--steps: 49 is outside 1 to 48"));
    assert!(files.refused(&["--steps", "0"]).contains("--steps"));
    assert!(files.refused(&["--steps", "2", "--prompt", "abc"]).contains("--prompt: has 4 tokens"));
    assert!(files.refused(&["--design", "fa2"]).contains("--attention"));
    assert!(files.refused(&["--attention", "f32", "--format", "bf16"]).contains("no core"));
    assert!(files.refused(&["--d", "4"]).contains("heads of 8 elements"));
    assert!(files.refused(&["--hold", "0.1"]).contains("--hold"));
    let text = files.path("text.txt");
    assert!(files.refused(&["--text", &text, "--tokens", "26"]).contains("--tokens: 26 is outside 1 to 25"));
    assert!(files.refused(&["--text", &files.path("none.txt")]).contains("none.txt"));
    std::fs::write(&text, [0xff, 0xfe]).unwrap();
    assert!(files.refused(&["--text", &text]).contains("text.txt"));
    std::fs::write(files.path("tokenizer.bin"), "short").unwrap();
    assert!(files.refused(&[]).contains("tokenizer.bin: ends in token 0"));
    std::fs::write(files.path("model.bin"), &model().to_bytes()[..100]).unwrap();
    assert!(files.refused(&[]).contains("model.bin: has 100 bytes"));
}

#[test]
fn weights_beyond_f32_are_an_error_and_no_panic() {
    let files = Files::new();
    let mut huge = model();
    huge.rms_final.fill(3e38);
    std::fs::write(files.path("model.bin"), huge.to_bytes()).unwrap();
    assert!(files.refused(&[]).contains("overflow"));
}

#[test]
fn dumped_heads_agree_with_the_model() {
    let files = Files::new();
    let (folder, text) = (files.path("heads"), files.path("text.txt"));
    files.json(&["--attention", "f32", "--steps", "5", "--text", &text, "--dump", &folder]);
    // The same text, taken here: BOS and 24 bytes.
    let model = model();
    let mut runner = Runner::new(&model, RecordHeads::default());
    let tokens = std::fs::read(&text).unwrap();
    runner.step(1);
    tokens.iter().for_each(|&byte| drop(runner.step(usize::from(byte) + 3).to_vec()));
    let traces = flashd_workload::load_dir(std::path::Path::new(&folder)).unwrap();
    assert_eq!(traces.len(), 4);
    for trace in &traces {
        let head: usize = trace.name.rsplit_once("head").unwrap().1.parse().unwrap();
        assert_eq!(trace.attention, runner.attention().layer(trace.layer().unwrap())[head], "{}", trace.name);
        assert_eq!((trace.causal, trace.d, trace.group.as_str()), (true, 8, "model-d8"));
    }
    // The generation: five positions.
    let generated = files.path("generated");
    files.json(&["--attention", "f32", "--steps", "5", "--dump", &generated]);
    let traces = flashd_workload::load_dir(std::path::Path::new(&generated)).unwrap();
    assert!(traces.iter().all(|trace| (1..=5).contains(&trace.attention.keys)));
    let message = files.refused(&["--steps", "2", "--dump", &files.path("text.txt")]);
    assert!(message.starts_with("error: --dump "), "{message}");
}

//! The recorded models next to the repository: run with `--ignored`. Without the models the tests say so and pass.

use crate::common::shared;
use flashd_llm::*;
use flashd_spec::config::{CoreConfig, Design};
use flashd_spec::format::Format;

/// A model and its tokenizer, or a message.
fn load(checkpoint: &str, tokenizer: &str) -> Option<(Checkpoint, Tokenizer)> {
    let path = shared(&format!("models/{checkpoint}"));
    if !path.exists() {
        eprintln!("SKIPPED: {} is absent", path.display());
        return None;
    }
    let model = Checkpoint::read(&path).unwrap();
    let tokenizer = Tokenizer::read(&shared(&format!("models/{tokenizer}")), model.config.vocab).unwrap();
    Some((model, tokenizer))
}

/// The text, and the generation, with f32.
fn f32_text(model: &Checkpoint, tokenizer: &Tokenizer, prompt: &str, steps: usize) -> (String, Generation) {
    let mut runner = Runner::new(model, F32Attention);
    let generation = generate(&mut runner, &tokenizer.encode(prompt), steps, &mut || ());
    (tokenizer.decode(&generation.tokens), generation)
}

#[test]
#[ignore = "needs ../shared/models"]
fn stories_begin_as_in_llama2_c() {
    let Some((model, tokenizer)) = load("stories260K.bin", "tok512.bin") else { return };
    let (text, _) = f32_text(&model, &tokenizer, "", 100);
    assert!(
        text.starts_with("Once upon a time, there was a little girl named Lily. She loved to play outside"),
        "{text}"
    );
    for text in ["Once upon a time, Lily saw a dog.", "naïve £ 10\n", " two  spaces"] {
        let tokens = tokenizer.encode(text);
        assert_eq!(tokenizer.decode(&tokens), text);
        assert!(tokens.len() <= text.len() + 2);
    }
}

#[test]
#[ignore = "needs ../shared/models"]
fn cores_follow_the_models() {
    for (name, vocabulary) in [("stories260K.bin", "tok512.bin"), ("bytes-d64.bin", "bytes-tokenizer.bin")] {
        let Some((model, tokenizer)) = load(name, vocabulary) else { return };
        let (_, reference) = f32_text(&model, &tokenizer, "the ", 60);
        let mut recorder = Runner::new(&model, RecordHeads::default());
        reference.tokens[..reference.logits.len()].iter().for_each(|&token| {
            recorder.step(token);
        });
        let heads = recorder.into_attention();
        for design in [Design::FlashD, Design::Fa2] {
            let core = CoreConfig::new(design, model.config.head_size(), Format::BF16);
            let attention = CoreAttention::new(&core, &model.config, &heads).unwrap();
            let mut runner = Runner::new(&model, attention);
            let other = generate(&mut runner, reference.tokens.split_at(5).0, 60, &mut || ());
            let comparison = compare(&reference, &other);
            assert!(comparison.common >= 5 && comparison.mean_logit_error < 0.1, "{name}: {comparison:?}");
        }
    }
}

#[test]
#[ignore = "needs ../shared/models"]
fn byte_models_have_a_token_for_each_byte() {
    for name in ["bytes-d16.bin", "bytes-d64.bin", "bytes-d256.bin"] {
        let Some((model, tokenizer)) = load(name, "bytes-tokenizer.bin") else { return };
        let text = "def add(a, b):\n    return a + b\n";
        let tokens = tokenizer.encode(text);
        assert!(tokens[1..].iter().zip(text.bytes()).all(|(&token, byte)| token == usize::from(byte) + 3));
        assert_eq!(tokenizer.decode(&tokens), text);
        let measured = perplexity(&mut Runner::new(&model, F32Attention), &tokens, &mut || ()).unwrap();
        // Far below an untrained model's, 259.
        assert!(measured.perplexity < 6.0, "{name}: {measured:?}");
    }
}

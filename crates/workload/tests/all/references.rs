//! Elements and scales against PyPI's gfloat and ml_dtypes, by `scripts/operands.py`.

use flashd_spec::format::{Format, Scale, ScaleFormat};
use flashd_workload::{RowEncoding, ScaleRule};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

/// As Python's `float.fromhex` reads it.
fn hexadecimal(x: f64) -> String {
    let bits = x.to_bits();
    let (sign, field, fraction) = (bits >> 63, (bits >> 52 & 0x7ff) as i32, bits & ((1 << 52) - 1));
    let sign = if sign == 1 { "-" } else { "" };
    match field {
        0 if fraction == 0 => format!("{sign}0x0p0"),
        0 => format!("{sign}0x0.{fraction:013x}p-1022"),
        _ => format!("{sign}0x1.{fraction:013x}p{}", field - 1023),
    }
}

/// The value of every encoding.
fn values(lines: &mut String) {
    let mut value = |name: &str, bits: u64, value: f64, special: bool| {
        let text = if special { "nan".into() } else { hexadecimal(value) };
        writeln!(lines, "value {name} {bits} {text}").unwrap();
    };
    for format in Format::MX {
        // An int8 of a block is a number of six places; its lowest counts as the one above.
        let unit = f64::from(Scale::Mx.element_exponent(format)).exp2();
        for bits in (0..1u64 << format.width()).filter(|&bits| !(format.is_integer() && bits == 0x80)) {
            value(&format.to_string(), bits, format.value(bits) * unit, format.is_special(bits));
        }
    }
    for bits in 0..256 {
        let (x, special) = ScaleFormat::E8m0.value(bits);
        value("e8m0", bits, x, special);
    }
    // Positive bf16 numbers except subnormals, which count as zero.
    for bits in (0x80..0x7f80).step_by(7) {
        let (x, special) = ScaleFormat::Bf16.value(bits);
        value("bf16", bits, x, special);
    }
}

/// Blocks of every format under every rule: numbers of float32 over all exponents, neighbours of powers of two, ties, zeros.
fn blocks(lines: &mut String, rng: &mut ChaCha8Rng) {
    let kinds =
        Format::MX.map(|format| (format, Scale::Mx)).into_iter().chain([(Format::FP4_E2M1, Scale::Nvfp4)]);
    for (format, scale) in kinds {
        for (rule, _) in
            ScaleRule::ALL.into_iter().filter(|(rule, _)| scale == Scale::Mx || *rule == ScaleRule::Rceil)
        {
            let encoding = RowEncoding { format, scale, rule };
            for case in 0..60 {
                let center = match scale {
                    Scale::Mx => [0, -30, 40, -126, 120][case % 5],
                    _ => [0, 3, -6, 8, -12][case % 5],
                };
                let spread = [3, 12][case % 2];
                let mut x = || {
                    let power = (center - rng.random_range(0..spread)) as f64;
                    let significand = match rng.random_range(0..4) {
                        0 => 1.0 + f64::from(rng.random_range(0..64u32)) / 64.0,
                        1 => 2.0 - 2f64.powi(-23),
                        2 => 0.0,
                        _ => rng.random_range(1.0..2.0f32).into(),
                    };
                    let x = significand * power.exp2() * if rng.random() { 1.0 } else { -1.0 };
                    f64::from(x as f32)
                };
                let d = scale.block().unwrap();
                let row: Vec<f64> = if case == 7 { vec![0.0; d] } else { (0..d).map(|_| x()).collect() };
                let (words, _) = encoding.encode(&row);
                let number = flashd_spec::bits::packed(&words[d..], format.width(), 8, 0);
                let list = |all: Vec<String>| all.join(",");
                writeln!(
                    lines,
                    "block {format} {} {} {number} {} {}",
                    serde_json::to_value(scale).unwrap().as_str().unwrap(),
                    serde_json::to_value(rule).unwrap().as_str().unwrap(),
                    list(row.iter().map(|&x| hexadecimal(x)).collect()),
                    list(words[..d].iter().map(u64::to_string).collect()),
                )
                .unwrap();
            }
        }
    }
}

#[test]
#[ignore = "takes the Python packages of scripts/venv; scripts/test runs it"]
fn elements_and_scales_agree_with_gfloat_and_ml_dtypes() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder = Command::new(root.join("scripts/venv")).arg("--no-install").output().unwrap();
    assert!(folder.status.success(), "{}", String::from_utf8_lossy(&folder.stderr));
    let python = Path::new(String::from_utf8_lossy(&folder.stdout).trim()).join("bin/python");
    let seed = 0x0f10;
    println!("seed {seed:#x}");
    let mut lines = String::new();
    values(&mut lines);
    blocks(&mut lines, &mut ChaCha8Rng::seed_from_u64(seed));
    let mut compare = Command::new(python)
        .arg(root.join("scripts/operands.py"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    // It reads all before it ends, or ends at a difference.
    let _ = compare.stdin.take().unwrap().write_all(lines.as_bytes());
    let output = compare.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && text.contains("blocks"), "{text}");
    println!("{text}");
}

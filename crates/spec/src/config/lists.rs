//! Lists of cores for generation and tests.

use super::*;

impl CoreConfig {
    /// The 24 shipped cores: FLASH-D and FA2 at d = 16, 64, 256 in bf16, fp8-e4m3 and int8, and the paper's weight unit in bf16 and fp8-e4m3.
    pub fn shipped() -> Vec<CoreConfig> {
        let mut cores = Vec::new();
        for format in [Format::BF16, Format::FP8_E4M3] {
            for d in [16, 64, 256] {
                let flash_d = CoreConfig::new(Design::FlashD, d, format);
                cores.push(flash_d.clone());
                cores.push(CoreConfig { datapath: FlashDVariant::Paper.into(), ..flash_d });
                cores.push(CoreConfig::new(Design::Fa2, d, format));
            }
        }
        for d in [16, 64, 256] {
            cores.extend(Design::ALL.map(|design| CoreConfig::new(design, d, Format::INT8)));
        }
        cores
    }

    /// Every variant at this vector length and format: FLASH-D's datapaths, those with fixed-point lanes also with the other value stage, then
    /// FA2's datapaths.
    pub fn variants(d: usize, format: Format) -> Vec<CoreConfig> {
        let flash_d = CoreConfig::new(Design::FlashD, d, format);
        let of = |design: Design| {
            let kinds = KINDS.iter().filter(move |kind| kind.design == design);
            kinds.map(move |kind| CoreConfig::with_datapath(kind.datapath, d, format))
        };
        let mut all: Vec<CoreConfig> = of(Design::FlashD).collect();
        if flash_d.has_fixed_lanes() {
            all.extend(CoreConfig::staged_otherwise(d, format));
        }
        all.extend(of(Design::Fa2));
        all
    }

    /// FLASH-D's fixed-point lanes with the opposite of the default value stage.
    pub fn staged_otherwise(d: usize, format: Format) -> Vec<CoreConfig> {
        let kinds = KINDS.iter().filter(|kind| kind.design == Design::FlashD);
        let cores = kinds.map(|kind| CoreConfig::with_datapath(kind.datapath, d, format));
        let fixed = cores.filter(CoreConfig::has_fixed_lanes);
        fixed.map(|core| CoreConfig { value_stage: Some(!core.value_stage()), ..core }).collect()
    }

    /// Cores with float lanes whose precision differs from the ports': wider accumulators, wider weights, or both.
    pub fn mixed_precision(d: usize) -> Vec<CoreConfig> {
        let float = |kind: &&&'static DatapathKind| kind.arithmetic == Arithmetic::Float;
        let precisions = [
            (Format::FP8_E4M3, Some(Format::BF16), Some(Format::BF16.precision())),
            (Format::BF16, Some(Format::FP32), None),
            (Format::FP8_E5M2, Some(Format::FP16), Some(6)),
            (Format::FP16, Some(Format::FP32), None),
            (Format::BF16, None, Some(12)),
        ];
        let core = |(format, accumulator, weight_bits): (Format, Option<Format>, Option<u32>),
                    kind: &DatapathKind| {
            let accumulator = accumulator.map(Accumulator::Float);
            CoreConfig { accumulator, weight_bits, ..CoreConfig::with_datapath(kind.datapath, d, format) }
        };
        precisions
            .into_iter()
            .flat_map(|p| KINDS.iter().filter(float).map(move |kind| core(p, kind)))
            .collect()
    }

    /// Every FLASH-D variant with the log-sum-exp weight unit, under this hold rule.
    pub fn with_hold(d: usize, format: Format, hold: Hold) -> Vec<CoreConfig> {
        let lse = |core: &CoreConfig| core.weight() == Some(WeightUnit::Lse);
        let cores = CoreConfig::variants(d, format).into_iter().filter(lse);
        cores.map(|core| CoreConfig { hold: Some(hold), ..core }).collect()
    }
}

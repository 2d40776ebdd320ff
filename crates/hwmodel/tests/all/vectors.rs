//! The layout of test vectors, and which ports each line has.

use flashd_hwmodel::vectors::{Layout, Look, PortShape};
use flashd_spec::config::{CoreConfig, Design};
use flashd_spec::format::Format;
use flashd_spec::ports::Compared;

#[test]
fn digits_pack_elements_of_any_width() {
    let text = |elements: &[u64], width| {
        let port = PortShape { name: "a".into(), output: false, width, elements: elements.len() };
        let mut out = String::from("x");
        Layout::new("packed".into(), vec![port]).line(&mut out, &[], |_, values| values.extend(elements));
        assert_eq!(out.pop(), Some('\n'));
        out
    };
    assert_eq!(text(&[0x12, 0xab], 8), "xab12");
    assert_eq!(text(&[1], 1), "x1");
    // 101 011 is six bits.
    assert_eq!(text(&[0b011, 0b101], 3), "x2b");
    assert_eq!(text(&[u64::MAX, 1], 64), "x0000000000000001ffffffffffffffff");
}

#[test]
fn a_layout_follows_the_ports() {
    let plain = CoreConfig::new(Design::Fa2, 5, Format::BF16);
    let layout = Layout::of(&plain, Look::Ports).unwrap();
    assert_eq!(
        layout.fields_text(),
        "rst:1 q:16x5 q_valid:1 k:16x5 k_valid:1 k_last:1 v_step:1 v_ren:1 v:16x5 o:16x5 o_valid:1 o_invalid:1 o_saturated:1"
    );
    let partial = CoreConfig { masks: true, partial: true, ..plain };
    let layout = Layout::of(&partial, Look::Ports).unwrap();
    for (name, compared) in [
        ("k_state", None),
        ("state_ren", Some(Compared::Always)),
        ("v_state", Some(Compared::WithRead)),
        ("o_empty", Some(Compared::WithResult)),
        ("o_m", Some(Compared::WithState)),
        ("o_state", Some(Compared::WithState)),
    ] {
        assert_eq!(layout.field(name).unwrap().compared, compared, "{name}");
    }
    let end = layout.fields.last().unwrap();
    assert_eq!(layout.digits, end.first + end.digits());
}

#[test]
fn what_is_not_compared_is_zero() {
    let layout = Layout::of(CoreConfig::new(Design::Fa2, 2, Format::FP8_E4M3), Look::Ports).unwrap();
    let line = |rst: u64, o_valid: u64| {
        let mut out = String::new();
        layout.line(&mut out, &[], |field, elements| match field.port.name.as_str() {
            "rst" => elements.push(rst),
            "o_valid" => elements.push(o_valid),
            _ => elements.extend(vec![1; field.port.elements]),
        });
        out
    };
    // rst, q, q_valid, k, k_valid, k_last, v_step, v_ren, v, o, o_valid, o_invalid, o_saturated: two digits an element.
    assert_eq!(
        line(0, 1),
        "0".to_owned() + "0101" + "1" + "0101" + "11" + "11" + "0101" + "0101" + "1" + "11\n"
    );
    assert_eq!(
        line(0, 0),
        "0".to_owned() + "0101" + "1" + "0101" + "11" + "11" + "0101" + "0000" + "0" + "00\n"
    );
    assert_eq!(
        line(1, 1),
        "1".to_owned() + "0101" + "1" + "0101" + "11" + "00" + "0101" + "0000" + "0" + "00\n"
    );
}

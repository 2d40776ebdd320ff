//! stub
/// stub
pub struct AnySpecial;
impl AnySpecial {
    /// stub
    pub fn new(_f: crate::format::Format, _d: usize) -> crate::attention::any_flag::AnyFlag {
        unimplemented!()
    }
}

pub(crate) use crate::cores::hold_budget::*;

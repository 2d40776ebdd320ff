//! The text of the last error, for each thread.

use flashd_api::{Error, guarded};
use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char};

thread_local! {
    static LAST: RefCell<CString> = RefCell::default();
}

/// The error of this thread's last failed call; empty if none failed. Valid until the next call that fails.
#[unsafe(no_mangle)]
pub extern "C" fn flashd_error() -> *const c_char {
    LAST.with(|last| last.try_borrow().map_or(c"".as_ptr(), |text| text.as_ptr()))
}

/// Runs the body of a function; None, and the text kept, if it failed.
pub(crate) fn kept<T>(run: impl FnOnce() -> Result<T, Error>) -> Option<T> {
    match guarded(run) {
        Ok(value) => Some(value),
        Err(error) => {
            let text: Vec<u8> = error.to_string().bytes().filter(|&byte| byte != 0).collect();
            LAST.with(|last| {
                if let Ok(mut last) = last.try_borrow_mut() {
                    *last = CString::new(text).unwrap_or_default();
                }
            });
            None
        }
    }
}

/// An error of the caller's.
pub(crate) fn input(text: impl Into<String>) -> Error {
    Error::Input(text.into())
}

/// A text from C.
///
/// # Safety
/// `text` is null or points to a string that ends with a zero.
pub(crate) unsafe fn text<'a>(what: &str, text: *const c_char) -> Result<&'a str, Error> {
    if text.is_null() {
        return Err(input(format!("{what} is NULL")));
    }
    let text = unsafe { CStr::from_ptr(text) };
    text.to_str().map_err(|_| input(format!("{what} is not UTF-8")))
}

/// Elements from C.
///
/// # Safety
/// `data` is null or points to `length` elements.
pub(crate) unsafe fn slice<'a, T>(what: &str, data: *const T, length: usize) -> Result<&'a [T], Error> {
    if data.is_null() {
        return Err(input(format!("{what} is NULL")));
    }
    if !data.is_aligned() {
        return Err(input(format!("{what} is not aligned")));
    }
    Ok(unsafe { std::slice::from_raw_parts(data, length) })
}

/// Elements to fill.
///
/// # Safety
/// `data` is null or points to `length` elements without other users.
pub(crate) unsafe fn slice_mut<'a, T>(what: &str, data: *mut T, length: usize) -> Result<&'a mut [T], Error> {
    unsafe { slice(what, data.cast_const(), length) }?;
    Ok(unsafe { std::slice::from_raw_parts_mut(data, length) })
}

/// How many elements there are in a tensor.
pub(crate) fn size(shape: &[usize]) -> Result<usize, Error> {
    let size = shape.iter().try_fold(1usize, |size, &n| size.checked_mul(n));
    // A slice has at most isize::MAX bytes, and no element here has more than 8.
    size.filter(|&n| n <= isize::MAX as usize / 8).ok_or_else(|| input(format!("{shape:?} is too large")))
}

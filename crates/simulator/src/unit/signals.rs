//! The signals of an AXI4 port in one cycle. A channel without an offer is `None`.

/// The burst type INCR, the only one here.
pub const INCR: u64 = 1;

/// Answers: OKAY.
pub const OKAY: u64 = 0;
/// Answers: an error of the memory.
pub const SLVERR: u64 = 2;
/// Answers: no memory at the address.
pub const DECERR: u64 = 3;

/// Bytes that a burst must not cross a multiple of.
pub const BOUNDARY: u64 = 4096;

/// An address channel: a burst of reads or writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Burst {
    /// `axid`.
    pub id: u64,
    /// `axaddr`, in bytes.
    pub address: u64,
    /// `axlen`: beats, less one.
    pub len: u64,
    /// `axsize`: logarithm of the bytes of a beat.
    pub size: u64,
    /// `axburst`.
    pub kind: u64,
    /// `axcache`.
    pub cache: u64,
    /// `axprot`.
    pub prot: u64,
}

impl Burst {
    /// A burst of whole beats of `bytes` bytes, from an address on.
    pub fn new(id: u64, address: u64, beats: u64, bytes: u64) -> Burst {
        let size = u64::from(bytes.ilog2());
        Burst { id, address, len: beats - 1, size, kind: INCR, cache: 3, prot: 0 }
    }

    /// Bytes of a beat.
    pub fn bytes(&self) -> u64 {
        1 << self.size
    }

    /// The addresses of beat `n`: from the burst's address on in the first beat, whole beats after it.
    pub fn beat(&self, n: u64) -> std::ops::Range<u64> {
        let first = self.address & !(self.bytes() - 1);
        let start = first.wrapping_add(n * self.bytes());
        let end = start.wrapping_add(self.bytes());
        if n == 0 { self.address..end } else { start..end }
    }

    /// The addresses of all beats.
    pub fn range(&self) -> std::ops::Range<u64> {
        self.address..self.beat(self.len).end
    }
}

/// Channel W: data, byte by byte, and which of them are written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WriteBeat {
    /// `wdata` in words of 64 bits.
    pub data: Vec<u64>,
    /// `wstrb`, a bit a byte.
    pub strobes: u128,
    /// `wlast`.
    pub last: bool,
}

/// Channel R.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadBeat {
    /// `rid`.
    pub id: u64,
    /// `rdata` in words of 64 bits.
    pub data: Vec<u64>,
    /// `rresp`.
    pub resp: u64,
    /// `rlast`.
    pub last: bool,
}

/// Channel B.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WriteAnswer {
    /// `bid`.
    pub id: u64,
    /// `bresp`.
    pub resp: u64,
}

/// Outputs of a memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemorySide {
    /// `awready`.
    pub awready: bool,
    /// `wready`.
    pub wready: bool,
    /// `arready`.
    pub arready: bool,
    /// The answer to a write, where `bvalid`.
    pub b: Option<WriteAnswer>,
    /// A beat of a read, where `rvalid`.
    pub r: Option<ReadBeat>,
}

/// Outputs of a master.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MasterSide {
    /// A burst of writes, where `awvalid`.
    pub aw: Option<Burst>,
    /// Its data, where `wvalid`.
    pub w: Option<WriteBeat>,
    /// A burst of reads, where `arvalid`.
    pub ar: Option<Burst>,
    /// `bready`.
    pub bready: bool,
    /// `rready`.
    pub rready: bool,
}

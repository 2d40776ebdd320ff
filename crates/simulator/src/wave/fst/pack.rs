//! Compresses blocks of changes and writes them, in a separate thread.

use super::super::sink::Kind;
use super::blocks::{Block, Chain};
use super::failed;
use rayon::prelude::*;
use std::collections::HashMap;
use std::fs::File;
use std::io::{BufWriter, Error, Result, Write};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::{Builder, JoinHandle};
use wavefst::block::{
    ChainIndexEntry, encode_chain_index_dyn_alias2, encode_chain_payload, encode_frame_section,
    encode_time_section,
};
use wavefst::encoding::encode_varint;
use wavefst::{BlockType, PackType};

/// The fastest level of zlib.
const LEVEL: u32 = 1;

/// The file, and how many blocks of changes are in it.
type Written = (BufWriter<File>, u64);

/// Packs and writes blocks.
pub(super) struct Packer {
    /// One block is packed while the next one is filled.
    sender: Option<SyncSender<Block>>,
    /// Blocks that have been written.
    empty: Receiver<Block>,
    thread: Option<JoinHandle<Result<Written>>>,
}

impl Packer {
    /// Writes blocks to the end of a file.
    pub(super) fn start(out: BufWriter<File>) -> Result<Packer> {
        let (sender, blocks) = sync_channel(1);
        let (back, empty) = channel();
        let write = move || write_all(out, &blocks, &back);
        let thread = Builder::new().name("pack".into()).spawn(write)?;
        Ok(Packer { sender: Some(sender), empty, thread: Some(thread) })
    }

    /// Takes a block, and replaces it with the next one.
    pub(super) fn put(&mut self, block: &mut Block) -> Result<()> {
        let mut next = self.empty.try_recv().unwrap_or_else(|_| block.clone());
        next.follow(block);
        let full = std::mem::replace(block, next);
        match self.sender.as_ref().is_some_and(|sender| sender.send(full).is_ok()) {
            true => Ok(()),
            false => Err(self.end().err().unwrap_or_else(|| Error::other("the wave has ended"))),
        }
    }

    /// Waits until everything is written.
    pub(super) fn end(&mut self) -> Result<Written> {
        self.sender = None;
        let thread = self.thread.take().ok_or_else(|| Error::other("the wave has ended"))?;
        thread.join().unwrap_or_else(|_| Err(Error::other("the thread that packs the wave has failed")))
    }
}

impl Drop for Packer {
    /// Nothing is written any more when it is gone.
    fn drop(&mut self) {
        // Nobody asks any more how it ended.
        let _ = self.end();
    }
}

fn write_all(mut out: BufWriter<File>, blocks: &Receiver<Block>, back: &Sender<Block>) -> Result<Written> {
    let (mut bytes, mut count) = (Vec::new(), 0);
    while let Ok(block) = blocks.recv() {
        bytes.clear();
        pack(&block, &mut bytes)?;
        out.write_all(&bytes)?;
        count += 1;
        // The recording may have ended.
        let _ = back.send(block);
    }
    Ok((out, count))
}

/// A block as it is in the file, with its kind and length in front.
fn pack(block: &Block, out: &mut Vec<u8>) -> Result<()> {
    out.push(BlockType::VcDataDynAlias2 as u8);
    // The length is known last.
    out.extend([0; 8]);
    out.extend(block.begin.to_be_bytes());
    out.extend(block.now.to_be_bytes());
    let length: usize = block.chains.iter().map(|chain| chain.bytes.len()).sum();
    out.extend((length as u64).to_be_bytes());
    let mut first = Vec::new();
    block.chains.iter().for_each(|chain| put_first(chain.kind, chain.first, &mut first));
    let frame = encode_frame_section(first, Some(LEVEL)).map_err(failed)?;
    encode_varint(frame.uncompressed_len, out);
    encode_varint(frame.compressed_len, out);
    encode_varint(block.chains.len() as u64, out);
    out.extend(frame.payload);
    encode_varint(block.chains.len() as u64, out);
    out.push(PackType::Zlib.marker());
    let index = put_chains(block, out)?;
    let index = encode_chain_index_dyn_alias2(&index).map_err(failed)?;
    out.extend_from_slice(&index);
    out.extend((index.len() as u64).to_be_bytes());
    let times = encode_time_section(block.times.clone(), block.count, true, Some(LEVEL)).map_err(failed)?;
    out.extend(times.payload);
    for number in [times.uncompressed_len, times.compressed_len, times.item_count] {
        out.extend(number.to_be_bytes());
    }
    let length = out.len() as u64 - 1;
    out[1..9].copy_from_slice(&length.to_be_bytes());
    Ok(())
}

/// A value at the start of a block: a character a bit, x where there is none yet.
fn put_first(kind: Kind, value: Option<u64>, out: &mut Vec<u8>) {
    match (kind, value) {
        (Kind::Bits(width), Some(bits)) => {
            out.extend((0..width).rev().map(|i| b'0' + (bits >> i & 1) as u8));
        }
        (Kind::Bits(width), None) => out.extend((0..width).map(|_| b'x')),
        (Kind::Real, value) => out.extend(value.unwrap_or(f64::NAN.to_bits()).to_ne_bytes()),
    }
}

/// The chains, each in front of it its length if it is compressed; where each of them is.
fn put_chains(block: &Block, out: &mut Vec<u8>) -> Result<Vec<ChainIndexEntry>> {
    let start = out.len();
    let chains = &block.chains;
    // Equal chains, as of flags in step, are written once. Only chains of equal length and kind are compared.
    let mut known: HashMap<(usize, usize), Vec<usize>> = HashMap::new();
    let mut index = vec![ChainIndexEntry::Empty; chains.len()];
    let mut own = Vec::new();
    for (place, chain) in chains.iter().enumerate().filter(|(_, chain)| !chain.bytes.is_empty()) {
        let alike = known.entry((chain.bytes.len(), chain.kind.bytes())).or_default();
        match alike.iter().find(|place| chains[**place].bytes == chain.bytes) {
            Some(target) => index[place] = ChainIndexEntry::Alias { target: *target as u32 + 1 },
            None => {
                alike.push(place);
                own.push((place, chain));
            }
        }
    }
    let encode =
        |&(_, chain): &(usize, &Chain)| encode_chain_payload(PackType::Zlib, &chain.bytes, Some(LEVEL));
    let encoded: Vec<_> = own.par_iter().map(encode).collect();
    for ((place, _), encoded) in own.iter().zip(encoded) {
        let (length, bytes) = encoded.map_err(failed)?;
        index[*place] = ChainIndexEntry::Data { offset: (out.len() - start) as u64 };
        encode_varint(length, out);
        out.extend(bytes);
    }
    Ok(index)
}

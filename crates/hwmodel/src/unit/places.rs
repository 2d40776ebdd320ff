//! Walks through the queries of a job in the order in which the array has them, and through their rows in memory.
//!
//! For each head of keys: for each token: for each head of the group. A block has a pair for each core of the array,
//! and ends with the head of keys.

use super::fields::Fields;
use crate::array::results::SelectFunction;
use crate::function;
use crate::rtl::{Module, Tag, Wire, bundle};
use crate::word::index_bits;
use crate::wrapper::logic::{EitherFunction, IsZeroFunction};

function! {
    /// The place of a query: which ends it is at, and the next place.
    pub struct PlaceFunction { width: u64 }
    name(this) = format!("place_{}", this.width);
    doc = "Heads of a group first, then tokens, then heads of keys.";
    inputs {
        step: 1, group: 16, queries: 32, k_heads: 16, head: 16, token: 32, k_head: 16, place: index_bits(this.width as usize)
    }
    outputs {
        first: 1, group_ends: 1, head_ends: 1, block_ends: 1, job_ends: 1,
        next_head: 16, next_token: 32, next_k_head: 16, next_place: index_bits(this.width as usize)
    }
    eval<W> {
        let next = |x: &W| x.add(&W::constant(x.width(), 1));
        let (after_head, after_token, after_k_head) = (next(&head), next(&token), next(&k_head));
        let group_ends = after_head.eq(&group).named("group_end");
        let head_ends = group_ends.and(&after_token.eq(&queries)).named("head_end");
        let job_ends = head_ends.and(&after_k_head.eq(&k_heads));
        let bits = place.width();
        let block_ends = head_ends.or(&place.eq(&W::constant(bits, this.width - 1))).named("block_end");
        let zero_if = |condition: &W, x: &W| condition.not().repeat(x.width()).and(x);
        let following_token = head_ends.select(&W::zero(32), &group_ends.select(&after_token, &token));
        let following_k_head = head_ends.select(&after_k_head, &k_head);
        [
            place.any().not(),
            group_ends.clone(),
            head_ends,
            block_ends.clone(),
            job_ends,
            step.select(&zero_if(&group_ends, &after_head), &head),
            step.select(&following_token, &token),
            step.select(&following_k_head, &k_head),
            step.select(&zero_if(&block_ends, &next(&place)), &place),
        ]
    }
}

/// A query's place.
#[derive(Clone, Copy)]
pub struct Place {
    /// Its token.
    pub token: Wire,
    /// It is the first of its block.
    pub first: Wire,
    /// It is the last of its token, among the heads of its group.
    pub group_ends: Wire,
    /// It is the last of its head of keys.
    pub head_ends: Wire,
    /// It is the last of its block.
    pub block_ends: Wire,
    /// It is the last of the job.
    pub job_ends: Wire,
}

bundle!(Place { token, first, group_ends, head_ends, block_ends, job_ends });

/// The places of a job's queries, one after another; `step`: the next one.
pub fn places(around: &mut Module, name: &str, width: usize, job: &Fields, step: Wire) -> Place {
    let doc = "The queries of a job: heads of a group, tokens, heads of keys.";
    around.part(name, Tag::module(format!("places_{width}"), doc), |m| {
        m.clock();
        m.reset();
        let step = m.input("step", step);
        let job = job.enter(m, &["GROUP", "QUERIES", "K_HEADS"]);
        let [group, queries, k_heads] = ["GROUP", "QUERIES", "K_HEADS"].map(|name| job.get(name));
        let (head, token) = (m.state("head_q", 16), m.state("token_q", 32));
        let (k_head, place) = (m.state("k_head_q", 16), m.state("place_q", index_bits(width)));
        let inputs = [step, group, queries, k_heads, head, token, k_head, place];
        let [
            first,
            group_ends,
            head_ends,
            block_ends,
            job_ends,
            next_head,
            next_token,
            next_k_head,
            next_place,
        ] = m.call("rules", PlaceFunction { width: width as u64 }, inputs);
        m.next_all(&[head, token, k_head, place], &[next_head, next_token, next_k_head, next_place]);
        m.hand_out("", &Place { token, first, group_ends, head_ends, block_ends, job_ends })
    })
}

function! {
    /// The address of the next query's row.
    pub struct NextRowFunction { bits: u32 }
    name(this) = format!("next_row_{}", this.bits);
    doc = "The next head of the token; else the next token's first head; else the next group's first head at token 0.";
    inputs {
        row: 32, head: 32, address: this.bits, token_address: this.bits, group_address: this.bits,
        first_token: 1, group_ends: 1, head_ends: 1
    }
    outputs { next_address: this.bits, next_token: this.bits, next_group: this.bits }
    eval<W> {
        let bits = this.bits;
        let ahead = |x: &W, stride: &W| x.add(&stride.zext(bits.max(32)).slice(0, bits));
        let next_head = ahead(&address, &head).named("next_head");
        let group = first_token.and(&group_ends).select(&next_head, &group_address);
        let next_token = ahead(&token_address, &row).named("beside");
        let from_token = head_ends.select(&group, &group_ends.select(&next_token, &token_address));
        [group_ends.select(&from_token, &next_head), from_token, group]
    }
}

/// The address of the row of a query, result or state at a place, for a job whose fields `[base, row, head]` are given.
///
/// `begin`: a job begins; `step`: the place is left.
pub fn row_address(
    around: &mut Module,
    name: &str,
    bits: u32,
    [base, row, head]: [Wire; 3],
    place: &Place,
    [begin, step]: [Wire; 2],
) -> Wire {
    let tag = Tag::module(format!("row_address_{bits}"), "The address of a row of queries or results.");
    around.part(name, tag, |m| {
        m.clock();
        let [base, row, head] = m.input_each([("base", base), ("row", row), ("head", head)]);
        let [token, group_ends, head_ends] = m.input_each([
            ("token", place.token),
            ("group_ends", place.group_ends),
            ("head_ends", place.head_ends),
        ]);
        let [begin, step] = m.input_each([("begins", begin), ("step", step)]);
        let [moves] = m.call("moves", EitherFunction {}, [begin, step]);
        let [address, of_token, of_group] =
            ["address_q", "token_q", "group_q"].map(|name| m.state_if(name, bits, moves));
        let [first_token] = m.call("first", IsZeroFunction { bits: 32 }, [token]);
        let next = [row, head, address, of_token, of_group, first_token, group_ends, head_ends];
        let next: [Wire; 3] = m.call("next", NextRowFunction { bits }, next);
        let select = SelectFunction { width: bits };
        for ((state, next), name) in
            [address, of_token, of_group].into_iter().zip(next).zip(["load", "load_token", "load_group"])
        {
            let [next] = m.call(name, select.clone(), [begin, base, next]);
            m.next(state, next);
        }
        m.output("address", address)
    })
}

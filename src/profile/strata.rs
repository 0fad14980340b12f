//! A part of a set that stands for the whole: as many small, middling and large files as the set
//! has, from all over it, the same ones every time.

use crate::draw::Draw;

/// The places of `n` members of a set, given the size of each: the set is cut by size into `n`
/// strata of equal count, and one member of each is drawn. In the order of the set. All places if
/// there are no more than `n`.
pub fn strata(sizes: &[u64], n: usize) -> Vec<usize> {
    if sizes.len() <= n {
        return (0..sizes.len()).collect();
    }
    let mut by_size: Vec<usize> = (0..sizes.len()).collect();
    by_size.sort_by_key(|place| (sizes[*place], *place));
    let mut draw = Draw::new(0, 0, b"strata", 0);
    let bound = |stratum: usize| stratum * sizes.len() / n;
    let mut drawn: Vec<usize> = (0..n)
        .map(|stratum| {
            let (from, to) = (bound(stratum), bound(stratum + 1));
            by_size[from + draw.below((to - from) as u64) as usize]
        })
        .collect();
    drawn.sort_unstable();
    drawn
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_size_is_there_as_often_as_in_the_set() {
        // A hundred times as many small files as large ones, the large ones last.
        let sizes: Vec<u64> = (0..1010).map(|at| if at < 1000 { 10 } else { 1000 }).collect();
        let drawn = strata(&sizes, 101);
        assert_eq!(drawn.len(), 101);
        assert!(drawn.is_sorted());
        assert_eq!(drawn.iter().filter(|at| sizes[**at] == 1000).count(), 1);
        let mean = drawn.iter().map(|at| *at as f64).sum::<f64>() / 101.0;
        assert!((450.0..560.0).contains(&mean), "from all over the set: {mean}");
        assert_eq!(drawn, strata(&sizes, 101));
    }

    #[test]
    fn a_small_set_is_taken_whole() {
        assert_eq!(strata(&[5, 1], 2), [0, 1]);
        assert!(strata(&[], 3).is_empty());
    }
}

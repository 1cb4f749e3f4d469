//! Dot products of RDNA 3 and RDNA 4, modelled in f64 after measurements of gfx1100 and gfx1201. An f64 holds
//! every product of short floats and every multiple of a grid that occurs.

/// The format of factors.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Factors {
    F16,
    Bf16,
    /// 8 bits; whether A and B are bf8, otherwise they are fp8.
    Bytes([bool; 2]),
}

/// The properties of a dot product.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dot {
    pub(crate) factors: Factors,
    /// Results have the format of the factors; otherwise they are f32.
    pub(crate) short: bool,
    /// RDNA 4.
    pub(crate) fourth: bool,
    /// f16 results saturate.
    pub(crate) saturate: bool,
}

fn power(exponent: i32) -> f64 {
    2f64.powi(exponent)
}

/// The exponent of the first digit; that of zero is below all others.
fn exponent(x: f64) -> i32 {
    if x == 0.0 { -1000 } else { (x.to_bits() >> 52 & 0x7ff) as i32 - 1023 }
}

impl Dot {
    fn has_short_halves(self) -> bool {
        self.short && self.factors == Factors::F16
    }

    /// The result for a NaN or an infinity with these bits as f32.
    fn special(self, bits: u32) -> u64 {
        u64::from(match (self.short, self.factors) {
            (true, Factors::F16) => bits >> 16 & 0x8000 | 0x7c00 | bits >> 13 & 0x3ff,
            (true, Factors::Bf16) => bits >> 16,
            _ => bits,
        })
    }

    /// The bits of the sum of `c` and the products. Factors are exact in f32.
    pub(crate) fn of(self, a: &[f32], b: &[f32], c: f32) -> u64 {
        let (least, group, invalid) = match self.factors {
            Factors::F16 => ([-14; 2], 2, 0xffc0_0000),
            Factors::Bf16 => ([-126; 2], 2, 0xffc0_0000),
            Factors::Bytes(wide) => (wide.map(|wide| if wide { -14 } else { -6 }), 4, 0xffc0_0a3d),
        };
        let tiny = |x: f64| x.abs() < power(-126) && !self.fourth;
        let factor = |x: &f32| {
            let x = f64::from(*x);
            if self.factors == Factors::Bf16 && tiny(x) { 0.0f64.copysign(x) } else { x }
        };
        let factors: Vec<(f64, f64)> = a.iter().map(factor).zip(b.iter().map(factor)).collect();
        if factors.iter().any(|(x, y)| x.is_nan() || y.is_nan()) {
            return match (self.short, self.factors) {
                (true, Factors::F16) => 0xfe3d,
                (true, Factors::Bf16) => 0xfffd,
                _ => 0xffc0_0a3d,
            };
        }
        let products: Vec<f64> = factors.iter().map(|(x, y)| x * y).collect();
        let has = |infinity: f64| products.contains(&infinity);
        if products.iter().any(|p| p.is_nan()) || has(f64::INFINITY) && has(f64::NEG_INFINITY) {
            return self.special(invalid);
        }
        if c.is_nan() {
            return self.special(c.to_bits() | 1 << 22);
        }
        let infinite = products.iter().copied().chain([f64::from(c)]).filter(|p| p.is_infinite());
        let infinite = infinite.reduce(|x, y| x + y);
        if let Some(sum) = infinite {
            let positive = sum == f64::INFINITY;
            return self.special(match sum.is_nan() {
                true => invalid,
                false if positive => 0x7f80_0000,
                false => 0xff80_0000,
            });
        }
        let c = f64::from(c);
        let c = if tiny(c) { 0.0f64.copysign(c) } else { c };
        let grids: Vec<i32> = (factors.iter().zip(&products))
            .map(|((x, y), p)| {
                let [a, b] = [exponent(*x).max(least[0]), exponent(*y).max(least[1])];
                if *p == 0.0 { -1000 } else { a + b - 24 }
            })
            .collect();
        let own = grids.iter().copied().fold(-1000, i32::max);
        if self.fourth { self.groups(&products, &grids, group, c) } else { self.frame(&products, own, c) }
    }

    /// RDNA 4: products are added in groups, each on its own grid. Truncation is always downward.
    fn groups(self, products: &[f64], grids: &[i32], group: usize, c: f64) -> u64 {
        let least = if self.has_short_halves() { -14 } else { -126 };
        let all = grids.iter().copied().fold(-1000, i32::max);
        let grid = all.max(exponent(c).max(least) - 26);
        let floor = |x: f64, grid: i32| (x / power(grid)).floor();
        let vanishes = grid > least && c.abs() < power(grid);
        let mut total = if vanishes { 0.0 } else { floor(c, grid) };
        for (products, grids) in products.chunks(group).zip(grids.chunks(group)) {
            let own = grids.iter().copied().fold(-1000, i32::max);
            if own > -1000 {
                let sum: f64 = products.iter().map(|p| floor(*p, own)).sum();
                total += floor(sum * power(own), grid);
            }
        }
        self.round(total * power(grid))
    }

    /// RDNA 3: a term whose sign differs from that of `c` has its digits complemented.
    fn frame(self, products: &[f64], own: i32, c: f64) -> u64 {
        let terms = products.iter().copied().chain([c]);
        if terms.clone().all(|x| x == 0.0) {
            return 0;
        }
        let leading = products.iter().map(|p| exponent(*p)).fold(-1000, i32::max);
        let mine = if self.has_short_halves() { exponent(c).max(-14) } else { exponent(c) };
        let grid = own.max(leading.max(mine) - 26);
        let total: f64 = terms
            .map(|x| {
                let digits = (x.abs() / power(grid)).floor();
                if x.is_sign_negative() == c.is_sign_negative() { digits } else { -digits - 1.0 }
            })
            .sum();
        self.round(if c.is_sign_negative() { -total } else { total } * power(grid))
    }

    /// The bits of a sum, rounded to nearest even. Zero is positive.
    fn round(self, sum: f64) -> u64 {
        if sum == 0.0 {
            return 0;
        }
        let first = exponent(sum);
        if self.has_short_halves() {
            let unit = power(first.max(-14) - 10);
            let rounded = (sum / unit).round_ties_even() * unit;
            let most = if self.saturate { 65504.0 } else { f64::INFINITY };
            let rounded = if rounded.abs() > 65504.0 { most.copysign(sum) } else { rounded };
            let bits = u64::from(half::f16::from_f64(rounded).to_bits());
            return if bits == 0x8000 { 0 } else { bits };
        }
        let result = if self.fourth {
            sum as f32
        } else {
            // Rounded as if there were no least exponent; a result below it then becomes zero.
            let digits = f64::from((sum / power(first)) as f32);
            let rounded = digits * power(first);
            if rounded.abs() < power(-126) { 0.0 } else { rounded as f32 }
        };
        let bits = if result == 0.0 { 0 } else { result.to_bits() };
        u64::from(if self.short { bits >> 16 } else { bits })
    }
}

/// Sums of small integers as measured on a gfx1151, whose arithmetic is that of gfx1100; rounding to nearest
/// even would give 57 and 55.
#[test]
fn the_model_is_what_was_measured() {
    let dot = Dot { factors: Factors::F16, short: false, fourth: false, saturate: false };
    assert_eq!(dot.of(&[3.0, 8.0], &[8.0, 4.0], 1.0), u64::from(57f32.to_bits()));
    assert_ne!(dot.of(&[3.0, 8.0], &[8.0, 4.0], -1.0), u64::from(55f32.to_bits()));
    let fourth = Dot { fourth: true, ..dot };
    assert_eq!(fourth.of(&[3.0, 8.0], &[8.0, 4.0], -1.0), u64::from(55f32.to_bits()));
}

/// The grid of four products truncates an addend that a fused multiply-add would round; undefined results.
#[test]
fn dot_products_of_bytes_are_cut_downward() {
    let dot = Dot { factors: Factors::Bytes([false; 2]), short: false, fourth: true, saturate: false };
    let (one, zero) = ([1.0, 0.0, 0.0, 0.0], [0.0; 4]);
    assert_eq!(dot.of(&one, &one, f32::from_bits(0xb3a0_0000)), 0x3f7f_fffe);
    assert_eq!(dot.of(&[f32::NAN; 4], &one, 0.0), 0xffc0_0a3d);
    let wide = Dot { factors: Factors::Bytes([true; 2]), ..dot };
    assert_eq!(wide.of(&[f32::INFINITY; 4], &zero, 0.0), 0xffc0_0a3d);
    assert_eq!(wide.of(&[f32::INFINITY; 4], &[1.0, -1.0, 0.0, 0.0], f32::NAN), 0xffc0_0a3d);
    assert_eq!(wide.of(&[f32::INFINITY; 4], &[1.0; 4], f32::NEG_INFINITY), 0xffc0_0a3d);
}

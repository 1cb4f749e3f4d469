//! Dot products of RDNA 3 and RDNA 4, as measurements of gfx1100 and gfx1201 describe them, in f64: that holds every product of
//! 16-bit floats, and every multiple of a grid that occurs.

/// What is special about a dot product.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dot {
    /// Factors are bf16, else f16.
    pub(crate) bf16: bool,
    /// Results have the bits of the factors, else they are f32.
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
        self.short && !self.bf16
    }

    /// NaNs and infinities, of which the f32 has these bits.
    fn special(self, bits: u32) -> u64 {
        u64::from(match (self.short, self.bf16) {
            (false, _) => bits,
            (true, true) => bits >> 16,
            (true, false) => bits >> 16 & 0x8000 | 0x7c00 | bits >> 13 & 0x3ff,
        })
    }

    /// The bits of the sum of `c` and the products. Factors are exact in f32.
    pub(crate) fn of(self, a: &[f32], b: &[f32], c: f32) -> u64 {
        let least = if self.bf16 { -126 } else { -14 };
        let tiny = |x: f64| x.abs() < power(-126) && !self.fourth;
        let factor = |x: &f32| {
            let x = f64::from(*x);
            if self.bf16 && tiny(x) { 0.0f64.copysign(x) } else { x }
        };
        let factors: Vec<(f64, f64)> = a.iter().map(factor).zip(b.iter().map(factor)).collect();
        if factors.iter().any(|(x, y)| x.is_nan() || y.is_nan()) {
            return match (self.short, self.bf16) {
                (false, _) => 0xffc0_0a3d,
                (true, true) => 0xfffd,
                (true, false) => 0xfe3d,
            };
        }
        let products: Vec<f64> = factors.iter().map(|(x, y)| x * y).collect();
        let has = |infinity: f64| products.contains(&infinity);
        if products.iter().any(|p| p.is_nan()) || has(f64::INFINITY) && has(f64::NEG_INFINITY) {
            return self.special(0xffc0_0000);
        }
        if c.is_nan() {
            return self.special(c.to_bits() | 1 << 22);
        }
        let infinite = products.iter().copied().chain([f64::from(c)]).filter(|p| p.is_infinite());
        let infinite = infinite.reduce(|x, y| x + y);
        if let Some(sum) = infinite {
            let positive = sum == f64::INFINITY;
            return self.special(match sum.is_nan() {
                true => 0xffc0_0000,
                false if positive => 0x7f80_0000,
                false => 0xff80_0000,
            });
        }
        let c = f64::from(c);
        let c = if tiny(c) { 0.0f64.copysign(c) } else { c };
        let grids: Vec<i32> = (factors.iter().zip(&products))
            .map(
                |((x, y), p)| {
                    if *p == 0.0 { -1000 } else { exponent(*x).max(least) + exponent(*y).max(least) - 24 }
                },
            )
            .collect();
        let own = grids.iter().copied().fold(-1000, i32::max);
        if self.fourth { self.pairs(&products, &grids, own, c) } else { self.frame(&products, own, c) }
    }

    /// RDNA 4: two products are added on a grid of their own. All that is cut is cut downward.
    fn pairs(self, products: &[f64], grids: &[i32], own: i32, c: f64) -> u64 {
        let least = if self.has_short_halves() { -14 } else { -126 };
        let grid = own.max(exponent(c).max(least) - 26);
        let floor = |x: f64, grid: i32| (x / power(grid)).floor();
        let vanishes = grid > least && c.abs() < power(grid);
        let mut total = if vanishes { 0.0 } else { floor(c, grid) };
        for (p, g) in products.chunks(2).zip(grids.chunks(2)) {
            let own = g[0].max(g[1]);
            if own > -1000 {
                total += floor((floor(p[0], own) + floor(p[1], own)) * power(own), grid);
            }
        }
        self.round(total * power(grid))
    }

    /// RDNA 3: what has another sign than `c` is the complement of its digits.
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
            // As if there were no least exponent; then what is below it is zero.
            let digits = f64::from((sum / power(first)) as f32);
            let rounded = digits * power(first);
            if rounded.abs() < power(-126) { 0.0 } else { rounded as f32 }
        };
        let bits = if result == 0.0 { 0 } else { result.to_bits() };
        u64::from(if self.short { bits >> 16 } else { bits })
    }
}

/// Sums of small integers, as a gfx1151 gave them, whose arithmetic is that of gfx1100; nearest even would give 57, 55.
#[test]
fn the_model_is_what_was_measured() {
    let dot = Dot { bf16: false, short: false, fourth: false, saturate: false };
    assert_eq!(dot.of(&[3.0, 8.0], &[8.0, 4.0], 1.0), u64::from(57f32.to_bits()));
    assert_ne!(dot.of(&[3.0, 8.0], &[8.0, 4.0], -1.0), u64::from(55f32.to_bits()));
    let fourth = Dot { fourth: true, ..dot };
    assert_eq!(fourth.of(&[3.0, 8.0], &[8.0, 4.0], -1.0), u64::from(55f32.to_bits()));
}

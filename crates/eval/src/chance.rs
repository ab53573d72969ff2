//! Numbers that look random and are the same in every run.

/// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
pub struct Chance(u64);

impl Chance {
    /// The sequence of a seed; seeds beside each other give sequences that have nothing in common.
    pub fn new(seed: u64) -> Self {
        let mut chance = Self(seed.wrapping_mul(0xd134_2543_de82_ef95));
        chance.number();
        chance
    }

    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// From 0 up to 1.
    pub fn share(&mut self) -> f64 {
        (self.number() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// From `least` up to and without `most`.
    pub fn between(&mut self, least: usize, most: usize) -> usize {
        least + (self.number() % (most - least) as u64) as usize
    }

    /// About normally distributed around 0 with deviation 1: four shares (Irwin and Hall).
    pub fn normal(&mut self) -> f32 {
        let parts = self.number();
        let sum: u64 = (0..4).map(|part| (parts >> (16 * part)) & 0xffff).sum();
        (sum as f32 / 65_536.0 - 2.0) * 3.0_f32.sqrt()
    }
}

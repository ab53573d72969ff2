//! Which addresses a stranger's URL may lead to.
//!
//! The tables are IANA's registries of special-purpose addresses; what is not plainly part of
//! the public internet is refused. An IPv4 address inside an IPv6 one is judged as itself.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// A range of addresses, such as `10.1.0.0/16`, that an operator allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    prefix: u8,
}

impl Network {
    /// Whether the address lies in it. An IPv6 address that carries an IPv4 one counts as that.
    pub fn contains(self, address: IpAddr) -> bool {
        match (self.address, plain(address)) {
            (IpAddr::V4(network), IpAddr::V4(address)) => within(
                u128::from(network.to_bits()) << 96,
                u128::from(address.to_bits()) << 96,
                self.prefix,
            ),
            (IpAddr::V6(network), IpAddr::V6(address)) => {
                within(network.to_bits(), address.to_bits(), self.prefix)
            }
            _ => false,
        }
    }
}

/// Whether the first `prefix` bits are the same.
fn within(network: u128, address: u128, prefix: u8) -> bool {
    prefix == 0 || (network ^ address) >> (128 - u32::from(prefix)) == 0
}

/// A text that is no range of addresses.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` is no range of addresses; write it as `10.1.0.0/16`, `fd00::/8` or one address")]
pub struct NotANetwork(String);

impl FromStr for Network {
    type Err = NotANetwork;

    fn from_str(text: &str) -> Result<Network, NotANetwork> {
        let wrong = || NotANetwork(text.to_owned());
        let (address, prefix) = match text.split_once('/') {
            Some((address, prefix)) => (address, Some(prefix)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| wrong())?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let prefix = prefix.map_or(Ok(most), |prefix| prefix.parse().map_err(|_| wrong()))?;
        if prefix <= most {
            Ok(Network { address, prefix })
        } else {
            Err(wrong())
        }
    }
}

/// Why nobody may be sent to an address, or none if it is public.
pub fn refusal(address: IpAddr) -> Option<&'static str> {
    match plain(address) {
        IpAddr::V4(address) => refusal_v4(address),
        IpAddr::V6(address) => refusal_v6(address),
    }
}

/// The IPv4 address that an IPv6 one stands for, where it is delivered to that.
fn plain(address: IpAddr) -> IpAddr {
    let IpAddr::V6(v6) = address else {
        return address;
    };
    let bits = v6.to_bits();
    let last = Ipv4Addr::from_bits(bits as u32);
    match bits >> 32 {
        // ::ffff:0:0/96, mapped; 64:ff9b::/96, translated by NAT64.
        0xffff | 0x0064_ff9b_0000_0000_0000_0000 => last.into(),
        // ::/96, the retired "compatible" form; :: and ::1 are IPv6's own.
        0 if 1 < bits => last.into(),
        _ => address,
    }
}

fn refusal_v4(address: Ipv4Addr) -> Option<&'static str> {
    let reason = match address.octets() {
        [0, ..] => "means this host",
        [10, ..] | [172, 16..=31, ..] | [192, 168, ..] => "is private",
        [100, 64..=127, ..] => "is shared by a provider's customers",
        [127, ..] => "is this machine",
        [169, 254, ..] => "is link-local",
        [192, 0, 0, _] => "is reserved for protocols",
        [192, 0, 2, _] | [198, 51, 100, _] | [203, 0, 113, _] => "is for documentation",
        [192, 88, 99, _] => "is a retired relay",
        [198, 18 | 19, ..] => "is for benchmarks",
        // Public by its number, answered by a cloud's own host for its guests.
        [168, 63, 129, 16] => "is a cloud's own service",
        [224..=239, ..] => "is multicast",
        [240..=255, ..] => "is reserved",
        _ => return None,
    };
    Some(reason)
}

fn refusal_v6(address: Ipv6Addr) -> Option<&'static str> {
    let reason = match address.segments() {
        [0, 0, 0, 0, 0, 0, 0, 0] => "means this host",
        [0, 0, 0, 0, 0, 0, 0, 1] => "is this machine",
        [0x64, 0xff9b, ..] => "is translated locally",
        [0xfc00..=0xfdff, ..] => "is private",
        [0xfe80..=0xfebf, ..] => "is link-local",
        [0xfec0..=0xfeff, ..] => "is site-local",
        [0xff00..=0xffff, ..] => "is multicast",
        // 2001::/23: Teredo, benchmarks, ORCHID and other protocols.
        [0x2001, 0..=0x1ff, ..] => "is reserved for protocols",
        [0x2001, 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => "is for documentation",
        [0x2002, ..] => "is a retired tunnel (6to4)",
        // The interface's name says ISATAP: a tunnel to the IPv4 address behind it.
        [_, _, _, _, 0 | 0x200, 0x5efe, _, _] => "is a retired tunnel (ISATAP)",
        [0x2000..=0x3fff, ..] => return None,
        _ => "is not assigned",
    };
    Some(reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_of_the_public_internet_are_allowed() {
        let refused = [
            "0.0.0.0",
            "0.1.2.3",
            "10.0.0.0",
            "10.255.255.255",
            "100.64.0.0",
            "100.100.100.200",
            "100.127.255.255",
            "127.0.0.1",
            "127.1.2.3",
            "127.255.255.255",
            "169.254.0.1",
            "169.254.169.254",
            "169.254.170.2",
            "172.16.0.0",
            "172.31.255.255",
            "192.0.0.0",
            "192.0.0.170",
            "192.0.0.192",
            "192.0.2.1",
            "192.88.99.1",
            "192.168.0.0",
            "192.168.255.255",
            "198.18.0.1",
            "198.19.255.255",
            "198.51.100.7",
            "203.0.113.255",
            "168.63.129.16",
            "224.0.0.1",
            "239.255.255.250",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::2",
            "::7f00:1",
            "::10.0.0.1",
            "::ffff:127.0.0.1",
            "::ffff:10.1.1.1",
            "::ffff:169.254.169.254",
            "::ffff:0:127.0.0.1",
            "64:ff9b::127.0.0.1",
            "64:ff9b::10.0.0.1",
            "64:ff9b::a9fe:a9fe",
            "64:ff9b:1::1",
            "64:ff9b:1::8.8.8.8",
            "100::1",
            "2001::1",
            "2001:0:4136:e378:8000:63bf:3fff:fdd2",
            "2001:2::1",
            "2001:20::1",
            "2001:db8::1",
            "2002:7f00:1::",
            "2002:808:808::1",
            "3fff::1",
            "3fff:fff::1",
            "4000::1",
            "5f00::1",
            "fc00::1",
            "fd00:ec2::254",
            "fdff:ffff::1",
            "fe80::1",
            "febf::1",
            "fec0::1",
            "ff02::1",
            "ff0e::1",
            "2600:1f00::5efe:10.0.0.1",
            "2600:1f00::200:5efe:127.0.0.1",
        ];
        for address in refused {
            assert!(
                refusal(address.parse().unwrap()).is_some(),
                "{address} must be refused"
            );
        }

        let allowed = [
            "1.1.1.1",
            "8.8.8.8",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "126.255.255.255",
            "128.0.0.1",
            "169.253.255.255",
            "169.255.0.0",
            "172.15.255.255",
            "172.32.0.0",
            "191.255.255.255",
            "192.0.1.1",
            "192.167.255.255",
            "192.169.0.0",
            "198.17.255.255",
            "198.20.0.0",
            "203.0.112.255",
            "203.0.114.0",
            "223.255.255.255",
            "168.63.129.15",
            "::8.8.8.8",
            "::ffff:8.8.8.8",
            "64:ff9b::8.8.8.8",
            "2001:200::1",
            "2001:4860:4860::8888",
            "2001:db7::1",
            "2606:4700:4700::1111",
            "2a00:1450:4001::200e",
            "3ffe::1",
            "3fff:1000::1",
        ];
        for address in allowed {
            assert_eq!(
                refusal(address.parse().unwrap()),
                None,
                "{address} must be allowed"
            );
        }
    }

    #[test]
    fn a_network_contains_what_shares_its_prefix() {
        let contains = |network: &str, address: &str| {
            network
                .parse::<Network>()
                .unwrap()
                .contains(address.parse().unwrap())
        };

        assert!(contains("10.1.0.0/16", "10.1.255.255"));
        assert!(!contains("10.1.0.0/16", "10.2.0.0"));
        assert!(contains("10.1.0.0/16", "::ffff:10.1.2.3"));
        assert!(contains("0.0.0.0/0", "8.8.8.8") && !contains("0.0.0.0/0", "2600::1"));
        assert!(contains("127.0.0.1", "127.0.0.1") && !contains("127.0.0.1", "127.0.0.2"));
        assert!(contains("fd00::/8", "fd12::1") && !contains("fd00::/8", "fc12::1"));
    }

    #[test]
    fn a_text_that_is_no_network_is_refused_with_an_example() {
        for text in [
            "",
            "10.0.0.0/33",
            "10.0.0.0/",
            "10.0.0/8",
            "fd00::/129",
            "host",
            "::1/-1",
        ] {
            let refused = text.parse::<Network>().unwrap_err().to_string();
            assert!(
                refused.starts_with(&format!("`{text}` is no range")),
                "{refused}"
            );
        }
    }
}

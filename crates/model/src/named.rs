//! Enums that are words on the wire, in the store and in the manual.

/// The text is none of the words.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("must be one of {words}, not `{given}`")]
pub struct NotAWord {
    pub(crate) words: &'static str,
    pub(crate) given: String,
}

/// Gives an enum its words: `name()`, and reading by [`std::str::FromStr`].
macro_rules! named {
    ($kind:ident { $first:ident = $first_word:literal $(, $variant:ident = $word:literal)* $(,)? }) => {
        impl $kind {
            /// Every one, in order.
            pub const ALL: &'static [Self] = &[Self::$first $(, Self::$variant)*];

            /// Its word on the wire and in the store.
            pub const fn name(self) -> &'static str {
                match self {
                    Self::$first => $first_word,
                    $(Self::$variant => $word,)*
                }
            }
        }

        impl std::str::FromStr for $kind {
            type Err = $crate::named::NotAWord;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                match text {
                    $first_word => Ok(Self::$first),
                    $($word => Ok(Self::$variant),)*
                    other => Err($crate::named::NotAWord {
                        words: concat!("`", $first_word, "`" $(, ", `", $word, "`")*),
                        given: other.chars().take(80).collect(),
                    }),
                }
            }
        }
    };
}
pub(crate) use named;

//! Which language a text is in, as far as its stemmer goes.

use std::borrow::Cow;

use rust_stemmers::{Algorithm, Stemmer};
use whatlang::{Detector, Lang};

use super::fold::without_accents;
use super::irregular::regular;

macro_rules! languages {
    ($($(#[$doc:meta])* $name:ident $lang:ident $words:literal)*) => {
        /// A language in Latin script that has a stemmer, or none of them.
        ///
        /// Other scripts need no telling: each has one stemmer or none.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        #[repr(u8)]
        pub enum Language {
            $($(#[$doc])* $name,)*
            /// Told by nothing: another language, too short a text, or another script.
            #[default]
            Other,
        }

        /// Every language with a stemmer and its function words.
        const TABLE: &[(Language, Lang, Algorithm, &str)] =
            &[$((Language::$name, Lang::$lang, Algorithm::$name, $words),)*];
    };
}

// The function words are the commonest articles, pronouns, prepositions and question words, as
// folded. Words of one letter are left out: they say little about the language.
languages! {
    /// English.
    English Eng "the of and to in is was were are be been has have had do does did for on with as at by from that this these those it its he she they them his her their you your we our us me my not or but if so than then there what which who whom whose when where why how can could will would should may might an am into about after before over also i'm it's"
    /// German.
    German Deu "der die das den dem des ein eine einen einem einer eines und oder aber nicht ist sind war waren wird werden wurde wurden hat haben hatte hatten von zu zum zur mit im in auf aus bei nach vor für durch über unter als auch sich es er sie wir ihr ich du man was wer wie wo wann warum welche welcher welches dass wenn noch nur so"
    /// Spanish.
    Spanish Spa "el la los las un una unos unas y o pero no es son era eran fue fueron ser ha han había de del al en con por para sin sobre entre como más que qué quién cuál cuáles cuándo dónde cómo cuánto cuántos su sus se le les lo este esta esto ese esa ya también"
    /// French.
    French Fra "le la les un une des du de et ou mais ne pas est sont était étaient fut a ont avait au aux en dans par pour sur sous avec sans entre comme plus que qui quoi quel quelle quels quelles où quand comment pourquoi ce cette ces son sa ses leur leurs se il elle ils elles nous vous je on"
    /// Italian.
    Italian Ita "il lo la gli le un uno una e o ma non è sono era erano fu ha hanno aveva di del della dei delle degli dal dalla al alla nel nella con per su tra fra come più che chi cosa quale quali quando dove perché questo questa suo sua loro si ci anche"
    /// Portuguese.
    Portuguese Por "os as um uma uns umas e ou mas não é são era eram foi foram ser tem têm tinha de do da dos das em no na nos nas ao aos com por para sem sobre entre como mais que quem qual quais quando onde porque seu sua seus suas se ele ela eles elas este esta isso também"
    /// Dutch.
    Dutch Nld "de het een en of maar niet is zijn was waren wordt werden heeft hebben had van naar met op aan uit bij na voor door over onder als ook zich hij zij wij ik je jij wat wie hoe waar wanneer waarom welke dat die deze dit nog er te om"
    /// Swedish.
    Swedish Swe "den det en ett och eller men inte är var vara blir har hade av till med på från för om under över som också sig han hon de vi jag du vad vem hur var när varför vilken vilket att"
    /// Danish.
    Danish Dan "den det en et og eller men ikke er var være bliver har havde af til med på fra for om under over som også sig han hun de vi jeg du hvad hvem hvor hvornår hvorfor hvilken hvilket at blev"
    /// Norwegian.
    Norwegian Nob "den det en ei et og eller men ikke er var være blir har hadde av til med på fra for om under over som også seg han hun de vi jeg du hva hvem hvor når hvorfor hvilken hvilket at ble"
    /// Finnish.
    Finnish Fin "ja tai mutta ei ole on oli olivat ovat olla se ne hän he me te minä sinä että joka jotka mikä mitä kuka missä milloin miksi miten kun jos kuin myös vain sen sitä tämä nämä"
    /// Hungarian.
    Hungarian Hun "az egy és vagy de nem van volt voltak lesz hogy ki mi mit hol mikor miért hogyan melyik aki ami amely ez azt ezt is csak meg el mint már még ha"
    /// Romanian.
    Romanian Ron "un o și sau dar nu este sunt era erau fost fi are au avea de din la în cu pe pentru prin fără între ca mai că ce cine care când unde cum cât câți lui ei lor sa său se el ea a al ale"
    /// Turkish.
    Turkish Tur "ve veya ama değil bir bu şu ne kim nasıl nerede zaman neden hangi kaç için ile gibi daha çok en da de ki mi olarak olan oldu olduğu sonra önce kadar göre ise her"
}

impl Language {
    /// The language of `folded` text.
    ///
    /// Function words decide where the text has some of them, a trigram model where not; text of
    /// which neither is sure is [`Language::Other`].
    pub(super) fn of(folded: &str) -> Self {
        let words: Vec<&str> = words(folded).take(WORDS_READ).collect();
        if !words.iter().any(|word| word.chars().any(is_latin)) {
            return Language::Other;
        }
        let counts = counts(&words);
        let (best, second) = first_two(&counts);
        if counts[best] >= 2 && counts[best] > second + counts[best] / 4 {
            return TABLE[best].0;
        }
        if words.len() < WORDS_FOR_TRIGRAMS {
            // One `the` among nothing else is still English. One word of another language says
            // less: each has some that are English words as well (`care`, `son`, `sale`).
            let english = TABLE[best].0 == Language::English;
            return if counts[best] > 0 && second == 0 && english {
                Language::English
            } else {
                Language::Other
            };
        }
        let detector = Detector::with_allowlist(TABLE.iter().map(|row| row.1).collect());
        match detector.detect(&words.join(" ")) {
            Some(info) if info.confidence() > 0.5 => TABLE
                .iter()
                .find(|row| row.1 == info.lang())
                .map_or(Language::Other, |row| row.0),
            _ => Language::Other,
        }
    }

    /// The stem of a folded word: by the word's script, and in Latin script by this language.
    pub(super) fn stem(self, word: &str) -> Cow<'_, str> {
        match word.chars().find(|c| c.is_alphabetic()) {
            None => Cow::Borrowed(word),
            Some(first) if first.is_ascii() || is_latin(first) => {
                let (algorithm, word) = match self {
                    // English stems also serve text that is short or of no known language.
                    Language::Other | Language::English => (Algorithm::English, regular(word)),
                    known => (TABLE[known as usize].2, word),
                };
                let stem = Stemmer::create(algorithm).stem(word).into_owned();
                Cow::Owned(without_accents(&stem).into_owned())
            }
            Some(first) => {
                let algorithm = match first {
                    '\u{370}'..='\u{3ff}' | '\u{1f00}'..='\u{1fff}' => Some(Algorithm::Greek),
                    '\u{400}'..='\u{52f}' => Some(Algorithm::Russian),
                    '\u{600}'..='\u{6ff}' | '\u{750}'..='\u{77f}' => Some(Algorithm::Arabic),
                    '\u{b80}'..='\u{bff}' => Some(Algorithm::Tamil),
                    _ => None,
                };
                let stem = match algorithm {
                    Some(algorithm) => Stemmer::create(algorithm).stem(word).into_owned(),
                    None => word.to_owned(),
                };
                let bare = without_accents(&stem).into_owned();
                // A stemmer may eat a short word whole.
                Cow::Owned(if bare.is_empty() {
                    word.to_owned()
                } else {
                    bare
                })
            }
        }
    }

    /// The language with this ISO 639-1 code, if it is one of these.
    pub(super) fn with_code(code: &str) -> Option<Self> {
        TABLE
            .iter()
            .find(|row| CODES[row.0 as usize] == code)
            .map(|row| row.0)
    }

    /// Whether words in plain letters gain from grams: not in English, whose endings are few, nor
    /// where the language is not known, since short English texts are often among those.
    pub(super) const fn wants_grams(self) -> bool {
        !matches!(self, Language::English | Language::Other)
    }
}

/// A set of languages: those that some stored text is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Languages(u32);

impl Languages {
    /// Every language.
    pub const ALL: Languages = Languages((1 << (Language::Other as u32 + 1)) - 1);

    /// The set as a number, for storage.
    pub const fn bits(self) -> u32 {
        self.0
    }

    /// The set that [`Languages::bits`] told; bits that name no language are left out.
    pub const fn from_bits(bits: u32) -> Self {
        Self(bits & Self::ALL.0)
    }

    /// With one more language.
    #[must_use]
    pub const fn with(self, language: Language) -> Self {
        Self(self.0 | 1 << language as u32)
    }

    /// The languages of either set.
    #[must_use]
    pub const fn or(self, other: Languages) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether the language is in the set.
    pub const fn has(self, language: Language) -> bool {
        self.0 & (1 << language as u32) != 0
    }

    /// The languages to stem a question by; English at least.
    pub(super) fn stemming(self) -> impl Iterator<Item = Language> {
        TABLE
            .iter()
            .map(|row| row.0)
            .filter(move |&language| language == Language::English || self.has(language))
    }

    /// Whether some text in these languages was indexed with grams.
    pub(super) fn any_grams(self) -> bool {
        TABLE
            .iter()
            .any(|row| row.0.wants_grams() && self.has(row.0))
    }
}

/// What the function words of a question tell: which languages it may be in, of those that the
/// asked text is written in and English.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asker {
    /// Those with the most function words in the question; all if it has none.
    spoken: Languages,
    /// Whether it is in English and nothing else.
    pub(super) is_english: bool,
}

impl Asker {
    pub(super) fn of(folded: &str, languages: Languages) -> Self {
        let words: Vec<&str> = words(folded).take(WORDS_READ).collect();
        let mut counts = counts(&words);
        for (count, row) in counts.iter_mut().zip(TABLE) {
            *count *= u32::from(row.0 == Language::English || languages.has(row.0));
        }
        let (best, second) = first_two(&counts);
        let spoken = TABLE
            .iter()
            .zip(&counts)
            .filter(|(_, count)| **count == counts[best])
            .fold(Languages::default(), |set, (row, _)| set.with(row.0));
        Self {
            spoken,
            is_english: TABLE[best].0 == Language::English
                && counts[best] >= 2
                && counts[best] > second,
        }
    }

    /// Whether the word carries grammar only, in a language of the question.
    ///
    /// `son` is a word of its own in an English question, whatever else the base is written in.
    pub(super) fn is_function_word(self, word: &str) -> bool {
        TABLE
            .iter()
            .zip(function_words())
            .filter(|(row, _)| self.spoken.has(row.0))
            .any(|(_, known)| known.binary_search(&word).is_ok())
    }
}

/// The words that are looked for among function words.
fn words(folded: &str) -> impl Iterator<Item = &str> {
    folded
        .split(|c: char| !c.is_alphabetic() && c != '\'')
        .filter(|word| word.len() > 1)
}

/// How many of the words are function words of each row of [`TABLE`].
fn counts(words: &[&str]) -> [u32; TABLE.len()] {
    let mut counts = [0; TABLE.len()];
    for word in words {
        for (count, known) in counts.iter_mut().zip(function_words()) {
            *count += u32::from(known.binary_search(word).is_ok());
        }
    }
    counts
}

/// The row with the highest count, the first of equal ones, and the highest count of the others.
fn first_two(counts: &[u32; TABLE.len()]) -> (usize, u32) {
    let best = (0..TABLE.len())
        .max_by_key(|&n| (counts[n], TABLE.len() - n))
        .expect("some");
    let others = (0..TABLE.len()).filter(|&n| n != best);
    (best, others.map(|n| counts[n]).max().unwrap_or(0))
}

/// Words read to tell a language; more change nothing.
const WORDS_READ: usize = 400;

/// Fewest words for which the trigram model is asked.
const WORDS_FOR_TRIGRAMS: usize = 8;

/// The function words of each row of [`TABLE`], sorted.
fn function_words() -> &'static [Vec<&'static str>] {
    static SORTED: std::sync::OnceLock<Vec<Vec<&'static str>>> = std::sync::OnceLock::new();
    SORTED.get_or_init(|| {
        let sorted = |row: &(Language, Lang, Algorithm, &'static str)| {
            let mut words: Vec<&'static str> = row.3.split(' ').collect();
            words.sort_unstable();
            words.dedup();
            words
        };
        TABLE.iter().map(sorted).collect()
    })
}

/// The ISO 639-1 code of each row of [`TABLE`].
const CODES: [&str; TABLE.len()] = [
    "en", "de", "es", "fr", "it", "pt", "nl", "sv", "da", "nb", "fi", "hu", "ro", "tr",
];

/// Languages of other scripts that can be told by script and letters, with their codes.
const OTHER_SCRIPTS: [(Lang, &str); 15] = [
    (Lang::Cmn, "zh"),
    (Lang::Jpn, "ja"),
    (Lang::Kor, "ko"),
    (Lang::Ara, "ar"),
    (Lang::Pes, "fa"),
    (Lang::Heb, "he"),
    (Lang::Hin, "hi"),
    (Lang::Ben, "bn"),
    (Lang::Tam, "ta"),
    (Lang::Tha, "th"),
    (Lang::Ell, "el"),
    (Lang::Rus, "ru"),
    (Lang::Ukr, "uk"),
    (Lang::Bul, "bg"),
    (Lang::Srp, "sr"),
];

/// Whether the text is in the language that its script and letters say, by its code.
pub(super) fn is_in_script(folded: &str, codes: &[&str]) -> bool {
    let told = whatlang::detect_lang(folded);
    OTHER_SCRIPTS
        .iter()
        .any(|(lang, code)| told == Some(*lang) && codes.contains(code))
}

/// Whether the code is of a language in Latin script, as far as is known.
pub(super) fn is_latin_code(code: &str) -> bool {
    OTHER_SCRIPTS.iter().all(|(_, known)| *known != code)
}

pub(super) fn is_latin(c: char) -> bool {
    c.is_ascii_alphabetic()
        || matches!(c, '\u{aa}' | '\u{ba}' | '\u{c0}'..='\u{24f}' | '\u{1e00}'..='\u{1eff}')
}

//! Telling passages that say the same in the same or nearly the same words.
//!
//! A reader loses nothing when one of two such passages is folded into the other, so the test
//! errs to the side of "different": passages that differ in a number, a date, a name, a unit, a
//! sign or a negation are never the same, however much else they share.

use std::collections::HashSet;
use std::sync::OnceLock;

use unicode_segmentation::UnicodeSegmentation;

use crate::text::{Terms, fold};

/// Signs of a sketch that may differ: about one word in forty.
const DIFFERING_MAX: u32 = 6;

/// Shorter passages are the same only with the same words: a single one may carry the point.
const STEMS_MIN: usize = 16;

/// What is kept of a passage to compare it with others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Print {
    /// Equal for texts of the same words and signs.
    pub words: u64,
    /// Close for texts of nearly the same words (Charikar's sketch over pairs of stems).
    pub sketch: u64,
    /// Equal for texts of the same numbers, names, units and negations, in the same order; 0
    /// where these cannot be told, and only the same words will do.
    pub telling: u64,
}

impl Print {
    /// The print of a text, which gave the terms.
    pub fn of(text: &str, terms: &Terms) -> Self {
        let telling = Telling::of(text);
        let comparable = telling.has_cases && STEMS_MIN <= terms.stems.len();
        Self {
            words: hash(terms.words.iter().chain(&telling.signs)),
            sketch: if comparable { sketch(&terms.stems) } else { 0 },
            // 0 is taken.
            telling: if comparable {
                hash(telling.words.iter().chain(&telling.signs)) | 1
            } else {
                0
            },
        }
    }

    /// Whether a reader of one passage learns nothing from the other.
    pub fn is_near(self, other: Self) -> bool {
        let differing = (self.sketch ^ other.sketch).count_ones();
        self.words == other.words
            || (self.telling != 0 && self.telling == other.telling && differing <= DIFFERING_MAX)
    }
}

/// What in a text must not differ.
#[derive(Default)]
struct Telling {
    /// Numbers, negations, months, days and what is beside them; words with a capital; folded.
    words: Vec<String>,
    /// Signs that change a statement: `-` before a digit, `%`, `€`, `<`.
    signs: Vec<String>,
    /// Whether names can be told: the text has capitals, and no script without them.
    has_cases: bool,
}

impl Telling {
    fn of(text: &str) -> Self {
        let mut telling = Telling::default();
        let (mut capitals, mut caseless, mut after_telling) = (false, false, false);
        let mut before: Option<String> = None;
        for piece in text.split_word_bounds() {
            let Some(first) = piece.chars().find(|c| c.is_alphanumeric()) else {
                let signs = piece.chars().filter(|&c| is_telling_sign(c));
                telling.signs.extend(signs.map(String::from));
                continue;
            };
            capitals |= first.is_uppercase();
            caseless |= piece
                .chars()
                .any(|c| c.is_alphabetic() && !c.is_lowercase() && !c.is_uppercase());
            let word = fold(piece).into_owned();
            let is_number = piece.chars().any(char::is_numeric);
            if is_number && let Some(before) = before.take() {
                telling.words.push(before);
            }
            // What a number counts and what a negation denies stand beside it.
            let tells = is_number || is_telling(&word);
            if tells || after_telling || first.is_uppercase() {
                telling.words.push(word);
                before = None;
            } else {
                before = Some(word);
            }
            after_telling = tells;
        }
        telling.has_cases = capitals && !caseless;
        telling
    }
}

fn is_telling_sign(c: char) -> bool {
    !matches!(c, '*' | '_' | '`' | '#' | '|' | '~' | '^')
        && (matches!(
            c,
            '-' | '\u{2212}' | '%' | '\u{2030}' | '\u{b0}' | '+' | '<' | '=' | '>' | '/'
        ) || matches!(c, '$' | '\u{a2}'..='\u{a5}' | '\u{b1}' | '\u{20a0}'..='\u{20cf}')
            || matches!(c, '\u{2190}'..='\u{22ff}'))
}

/// Whether the folded word is a negation, a number, a month or a day of the week.
fn is_telling(word: &str) -> bool {
    static KNOWN: OnceLock<HashSet<&str>> = OnceLock::new();
    let known = KNOWN.get_or_init(|| TELLING.split_whitespace().collect());
    known.contains(word) || word.ends_with("n't") || word.ends_with("n\u{2019}t")
}

/// Negations, numbers, months and days in the languages that have a stemmer, those left out that
/// are written with a capital. As folded.
const TELLING: &str = "
not no nor never none nobody nothing neither without cannot except unless
one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand
million billion first second third fourth fifth half quarter double twice once
before after until since more less fewer most least above below over under increase decrease
increased decreased increases decreases
nicht kein keine keinen keinem keiner keines nie niemals ohne weder nichts niemand außer
ein eine zwei drei vier fünf sechs sieben acht neun zehn elf zwölf zwanzig hundert tausend
vor nach mehr weniger unter über
no ni nunca jamás nada nadie ningún ninguna ninguno sin
uno una dos tres cuatro cinco seis siete ocho nueve diez once doce veinte cien mil antes después
más menos enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre
lunes martes miércoles jueves viernes sábado domingo
ne pas jamais rien personne aucun aucune sans ni
un une deux trois quatre cinq six sept huit neuf dix onze douze vingt cent mille avant après plus
moins janvier février mars avril mai juin juillet août septembre octobre novembre décembre
lundi mardi mercredi jeudi vendredi samedi dimanche
non né mai niente nessuno nessuna senza
due tre quattro cinque sei sette otto nove dieci undici dodici venti cento prima dopo più meno
gennaio febbraio aprile maggio giugno luglio settembre ottobre dicembre
lunedì martedì mercoledì giovedì venerdì domenica
não nem nenhum nenhuma ninguém sem um uma dois duas três quatro sete oito dez onze doze vinte cem
depois mais menos janeiro fevereiro março maio junho julho setembro outubro novembro dezembro
segunda terça quarta quinta sexta sábado
niet geen nooit niets niemand zonder noch een twee drie vijf zes zeven acht negen tien elf twaalf
twintig honderd duizend voor meer minder januari februari maart april mei juni juli augustus
september oktober november december maandag dinsdag woensdag donderdag vrijdag zaterdag zondag
inte ej aldrig ingen inget inga utan ett två tre fyra fem sex sju åtta nio tio elva tolv tjugo
hundra tusen före efter mer mindre januari februari mars maj augusti måndag tisdag onsdag torsdag
fredag lördag söndag
ikke aldri aldrig intet uden uten en et to fire seks syv otte åtte ni ti elleve tolv tyve hundre
hundrede tusind tusen før etter januar februar marts oktober desember mandag tirsdag lørdag søndag
ei en et emme ette eivät ilman yksi kaksi kolme neljä viisi kuusi seitsemän kahdeksan yhdeksän
kymmenen sata tuhat ennen jälkeen tammikuu helmikuu maaliskuu huhtikuu toukokuu kesäkuu heinäkuu
elokuu syyskuu lokakuu marraskuu joulukuu maanantai tiistai keskiviikko torstai perjantai lauantai
sunnuntai
nem sem soha senki semmi nélkül egy két kettő három négy öt hat hét nyolc kilenc tíz száz ezer
előtt után január február március április május június július augusztus szeptember október november
december hétfő kedd szerda csütörtök péntek szombat vasárnap
nu niciodată nimic nimeni fără doi două trei patru cinci șase șapte opt nouă zece sută mie înainte
după ianuarie februarie martie aprilie iunie iulie septembrie octombrie noiembrie decembrie luni
marți miercuri joi vineri sâmbătă duminică
değil yok hiç asla bir iki üç dört beş altı yedi sekiz dokuz on yüz bin önce sonra ocak şubat mart
nisan mayıs haziran temmuz ağustos eylül ekim kasım aralık pazartesi salı çarşamba perşembe cuma
cumartesi pazar
не ни нет никогда ничего никто без один два три четыре пять шесть семь восемь девять десять сто
тысяча до после января февраля марта апреля мая июня июля августа сентября октября ноября декабря
понедельник вторник среда четверг пятница суббота воскресенье
δεν δε μη μην ποτέ χωρίς ένα δύο τρία τέσσερα πέντε";

/// One sign for each of 64 directions: on which side of it most pairs of neighbouring stems lie.
fn sketch(stems: &[String]) -> u64 {
    let mut sums = [0_i32; 64];
    for pair in stems.windows(2) {
        let hash = hash(pair);
        for (bit, sum) in sums.iter_mut().enumerate() {
            *sum += if hash >> bit & 1 == 1 { 1 } else { -1 };
        }
    }
    sums.iter()
        .enumerate()
        .fold(0, |sketch, (bit, &sum)| sketch | u64::from(sum > 0) << bit)
}

/// FNV-1a, 64 bits, its bits mixed.
fn hash<'a>(words: impl IntoIterator<Item = &'a String>) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for word in words {
        for byte in word.bytes().chain([0xff]) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    hash = (hash ^ (hash >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash = (hash ^ (hash >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    hash ^ (hash >> 33)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::text::of_document;

    const NOTE: &str = "The committee met in Geneva and agreed that the harbour will be dredged \
        before the winter storms arrive, that the old pier is to be repaired by the Lake Company, \
        and that the cost of 40 thousand francs is shared between the town and its guests.";

    fn is_near(a: &str, b: &str) -> bool {
        let print = |text| Print::of(text, &of_document(text));
        print(a).is_near(print(b))
    }

    #[test]
    fn texts_of_nearly_the_same_words_are_near() {
        assert!(is_near(NOTE, &NOTE.to_uppercase()));
        assert!(is_near(NOTE, &NOTE.replace("old pier", "*old* pier")));
        assert!(is_near(
            NOTE,
            &NOTE.replace("agreed that", "agreed also that")
        ));
    }

    #[test]
    fn texts_that_differ_in_what_tells_are_not_near() {
        for (word, other) in [
            ("40 thousand", "50 thousand"),
            ("40 thousand", "40 million"),
            ("francs", "euros"),
            ("Geneva", "Lausanne"),
            ("will be", "will not be"),
            ("is shared", "isn't shared"),
            ("Lake Company", "Lake Authority"),
            ("before the winter", "after the winter"),
            ("of 40", "of -40"),
        ] {
            let changed = NOTE.replace(word, other);
            assert_ne!(changed, NOTE);
            assert!(!is_near(NOTE, &changed), "{other}");
        }
    }

    #[test]
    fn without_capitals_or_in_few_words_only_the_same_words_are_near() {
        let small = NOTE.to_lowercase();
        assert!(is_near(&small, &small));
        assert!(!is_near(&small, &small.replace("geneva", "lausanne")));
        assert!(!is_near("Anna likes red apples", "Anna likes green apples"));
        assert!(!is_near("北京大学在北京的西北部", "北京大学在北京的东北部"));
    }

    proptest! {
        #[test]
        fn nearness_is_the_same_both_ways(a in "[A-Ca-c0-2 ]{0,80}", b in "[A-Ca-c0-2 ]{0,80}") {
            prop_assert!(is_near(&a, &a));
            prop_assert_eq!(is_near(&a, &b), is_near(&b, &a));
        }

        #[test]
        fn another_number_is_never_near(n in 0_u32..10_000, other in 0_u32..10_000) {
            let text = |n: u32| NOTE.replace("40", &n.to_string());
            prop_assert_eq!(is_near(&text(n), &text(other)), n == other);
        }
    }
}

//! English words whose forms no stemmer brings together.

use std::collections::HashMap;
use std::sync::OnceLock;

/// Each line: a word, then the forms that are read as it.
///
/// Left out are forms that are also words of their own (`left`, `rose`, `lives`), where reading
/// them as another would bring together what differs.
const FORMS: &str = "\
become became
begin began begun
bend bent
bite bit bitten
blow blew blown
break broke broken
bring brought
build built
burn burnt
buy bought
catch caught
child children
choose chose chosen
come came
creep crept
deal dealt
dig dug
do did done does
draw drew drawn
dream dreamt
drink drank drunk
drive drove driven
eat ate eaten
fall fell fallen
feed fed
feel felt
fight fought
find found
flee fled
fly flew flown
foot feet
forbid forbade forbidden
forget forgot forgotten
forgive forgave forgiven
freeze froze frozen
get got gotten
give gave given
go went gone goes
goose geese
grow grew grown
hang hung
have had has
hear heard
hide hid hidden
hold held
keep kept
kneel knelt
know knew known
lead led
lean leant
leap leapt
learn learnt
lend lent
lose lost
make made
man men
mean meant
meet met
mouse mice
overcome overcame
pay paid
ride rode ridden
ring rang rung
run ran
say said
see saw seen
seek sought
sell sold
send sent
shake shook shaken
shoot shot
show shown
sing sang sung
sink sank sunk
sit sat
sleep slept
slide slid
speak spoke spoken
spell spelt
spend spent
spin spun
stand stood
steal stole stolen
stick stuck
strike struck
swear swore sworn
sweep swept
swim swam swum
swing swung
take took taken
teach taught
tear tore torn
tell told
think thought
throw threw thrown
tooth teeth
understand understood
undertake undertook undertaken
wake woke woken
wear wore worn
weave wove woven
weep wept
win won
withdraw withdrew withdrawn
woman women
write wrote written";

/// The word that the folded `word` is a form of, or itself.
pub(super) fn regular(word: &str) -> &str {
    static KNOWN: OnceLock<HashMap<&str, &str>> = OnceLock::new();
    let known = KNOWN.get_or_init(|| {
        let lines = FORMS.lines().filter_map(|line| line.split_once(' '));
        lines
            .flat_map(|(word, forms)| forms.split(' ').map(move |form| (form, word)))
            .collect()
    });
    known.get(word).copied().unwrap_or(word)
}

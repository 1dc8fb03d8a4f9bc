"""English verbs, found by a small lexicon and the endings of words, without a tagger.

`has_verb` tells a sentence from a title or a fragment.  It is generous: a fragment that passes
costs little, but a sentence that seems to have no verb is never shown.
"""

from collections.abc import Iterable, Iterator

from rejoinder.text.words import word_set


def has_verb(words: list[str]) -> bool:
    """Whether English words, in lower case and without punctuation, have a finite verb.

    >>> has_verb("run make install".split()), has_verb("the tree of the house".split())
    (True, False)
    """
    if not AUXILIARIES.isdisjoint(words) or not _CLEAR_FORMS.isdisjoint(words):
        return True
    return any(_is_verb(words, place) for place in range(len(words)))


def _is_verb(words: list[str], place: int) -> bool:
    word = words[place]
    before = words[place - 1] if place else ""
    if word in _DOUBTFUL:
        # In the imperative, or after its subject; elsewhere it may be a noun.
        is_imperative = not before and words[1:2] != ["of"]
        return is_imperative or before in _BEFORE_VERBS or before.endswith("s")
    if word.endswith(_CONTRACTED):
        return True
    if not before or before in _BEFORE_NOUNS:
        return False
    if word in _THIRD_PERSON:
        return place + 1 < len(words)  # at the end it is a plural, as in "release notes"
    return word.endswith("ed") and len(word) > 3 and word not in _NOT_PAST


def may_have_verb(words: list[str]) -> bool:
    """Whether a word that the lexicon lacks is where a verb would be.

    It comes between a subject and a function word, or after a pronoun.  Noun phrases pass as
    well ("release notes for users"), so ask only of text that ends as a sentence does.

    >>> may_have_verb("the moon orbits the earth".split())
    True
    """
    for before, word, after in zip(words, words[1:], words[2:], strict=False):
        if before in _SUBJECTS and word not in _FUNCTION_WORDS:
            return True
        if before in _FUNCTION_WORDS or word in _FUNCTION_WORDS or not word.isalpha():
            continue
        is_followed = after in _FUNCTION_WORDS or after[0].isdigit()
        if is_followed and _is_plural(before) != _is_plural(word):
            return True
    return False


def _is_plural(word: str) -> bool:
    """Whether a word ends as a plural or a third person does."""
    return word.endswith("s") and len(word) > 3 and not word.endswith(("ss", "us", "is"))


def _inflect(verbs: Iterable[str]) -> Iterator[tuple[str, str, str]]:
    """Yield each verb with its third person and its past, as if it were regular."""
    for verb in verbs:
        is_sibilant = verb.endswith(("s", "x", "z", "ch", "sh", "o"))
        ends_in_y = verb.endswith("y") and verb[-2] not in "aeiou"
        third = verb[:-1] + "ies" if ends_in_y else verb + ("es" if is_sibilant else "s")
        past = verb[:-1] + "ied" if ends_in_y else verb + ("d" if verb.endswith("e") else "ed")
        yield verb, third, past


AUXILIARIES = word_set(
    """
    am is are was were be been being has have had having do does did can could will would shall
    should may might must cannot ought isn't aren't wasn't weren't hasn't haven't hadn't don't
    doesn't didn't can't couldn't won't wouldn't shan't shouldn't mightn't mustn't ain't needn't
    it's that's there's here's what's who's he's she's let's i'm
    """
)
_CONTRACTED = ("'re", "'ve", "'ll", "'d", "n't")

# Verbs that are seldom nouns or adjectives: any form of them counts.
_CLEAR = word_set(
    """
    accept accompany achieve acquire add adhere adjust admit adopt affect agree allow amend
    announce appear append apply appoint approve argue arise arrange arrive ascend ask assert
    assign assist assume assure attain attend avoid base become begin behave believe belong bind
    borrow bring build buy calculate carry cause cease characterise characterize choose cite
    clarify cling combine come commence commit communicate compete comply comprise compute
    concatenate concern conclude condense conduct configure confirm consider consist constitute
    construct consult consume contain contend continue contribute converge convert convey cooperate
    correspond create creep customise customize deal decide declare decode decrease define delete
    deliver demonstrate denote deny depend deploy derive descend describe deserve designate destroy
    detect determine develop differ differentiate digest disable disappear discard disconnect
    discover discuss display distinguish distribute diverge divide draw earn eat edit eject elect
    eliminate embed emerge emit emphasise emphasize employ enable encode encompass encounter
    encourage encrypt endorse enforce enhance enjoy enrol enroll ensure enter establish evaluate
    evolve examine exceed excel exclude excrete execute exhibit exist expand expect expire explain
    explore expose extend extract facilitate fail fall fetch fill find fit flourish fluctuate
    follow forbid forget gain gather generate get give go govern grant grow guarantee handle happen
    help hide hold identify ignore illustrate imagine impersonate implement imply improve include
    incorporate increase indicate inform inhabit inherit inhibit initialise initialize insert
    inspect install instruct integrate intend interact interpret introduce invent invoke involve
    iterate join keep know lack lead learn leave let lie listen live locate look lose maintain make
    manage matter maximise maximize mean mention merge migrate minimise minimize modify negotiate
    normalise normalize notify obey obtain occur offer omit operate oppose optimise optimize
    organise organize originate oscillate overcome override overthrow overwrite parse participate
    pass perform permit persist pick populate possess predominate preserve prevail prevent proceed
    produce prohibit promote protect protrude prove provide publish push put react realise realize
    reappear receive recognise recognize recommend recover redirect reduce refer reflect refuse
    regulate reject relate rely remain remember remind remove rend render replace reply represent
    require resemble reserve reside resolve respond restart restore restrict retain retrieve return
    reveal rise say secrete see seek seem select send serve settle show simplify sit solve speak
    specialise specialize specify spend stay stimulate straddle strengthen strip submit succeed
    suggest summarise summarize suppose surpass survive synchronise synchronize synthesise
    synthesize take talk teach tell tend terminate think thrive throw tolerate translate transmit
    travel traverse treat truncate try turn undergo understand uninstall unload unveil use utilize
    validate vary verify visit wait wander want warn weaken widen win wish write
    """
)

# Their plain form is as often a noun: it counts where a verb can stand.
_DOUBTFUL = word_set(
    """
    access act address age aim alert alias answer appeal approach attach attack attempt attribute
    average backup ban bar block boil boot border bracket break browse bundle burn bypass cache
    call cancel cap cast catch chain challenge change charge check claim clean clear click clone
    close code collapse collect comment compare compile compress connect contrast control cook cool
    copy correct cost count cover cross cut cycle damage date debug decline default delay delegate
    demand deposit design detach detail die direct discharge document dominate double download drag
    drain drive drop dry dump echo end engage escape estimate exchange exit experience export
    express face fade favor favour fear feature feed feel fight file filter finish fire fix flag
    flash flip float flow flush fly focus fold force fork form format forward frame free freeze
    function fund grind group guess guide hand hang harm hash head hear heat hit host house import
    impose increment index influence inject input inquire intercept interest invite issue judge
    jump kick kill label land last launch lay lean lend lift light like limit line link list load
    lock log loop love lower mail map mark marry mask master match measure meet melt mirror mix
    model monitor mount move multiply name need neighbor neighbour nest note notice number object
    open order output own pack paint pair patch pause pay pin pipe place plan play plot plug point
    poll post pour practice praise precede prefer prefix prepare present press prey print process
    profile program project prompt propose pull pump pursue query question queue quit quote race
    raise range rank rate reach read reboot rebuild record refresh regard register reign release
    reload rename rent repeat report request rerun rescue reset resort respect rest result resume
    retry reverse review revise ring rock roll rotate round route rule run sample save scale scan
    schedule score scroll seal search season seat secure sell sense separate set shape share shift
    ship shut sign signal sing skip sleep slide slow smell smooth snap sort sound span split spread
    spring stack stage stand start stem step stick stop store strike strive structure study
    subscribe suffer suffix suit supply support surround survey suspend swap switch sync tag target
    taste test thank throttle tie time toggle top total touch trace track trade transfer trap
    trigger trim trust tune type undo unlock unset update upgrade upload value view vote wake walk
    warm wash watch wear weigh wind wonder work wrap yield zoom
    """
)

_IRREGULAR_PAST = word_set(
    """
    arose ate awoke bade beat became began bent bled blew bore bought bound bred broke brought
    built burnt came caught chose clung crept dealt drank drew drove dug fed fell felt fled flew
    forbade forgot fought found froze gave got grew heard held hid hung hurt kept knelt knew laid
    lain leapt led left lent lies lit lost made meant met overcame overrode overthrew paid quit ran
    rang rewrote rid rode rose said sang sank sat saw sent shook shot shown slept slid sold sought
    spelt spent spoke sprang spun stole stood stuck stung swam swept swore taken taught thought
    threw told took tore understood underwent upheld went wept withdrew woke won wore wove written
    wrote
    """
)

_CLEAR_FORMS = frozenset(form for forms in _inflect(_CLEAR) for form in forms) | _IRREGULAR_PAST
_THIRD_PERSON = frozenset(third for _, third, _ in _inflect(_DOUBTFUL))
_BEFORE_VERBS = word_set(
    """
    i you we they it he she who which that to not also always never often usually only please then
    and or first simply just now people these those many some all both either
    """
)
_BEFORE_NOUNS = word_set(
    """
    a an the this that these those of for in on by with from my your his her its our their no
    """
)
_SUBJECTS = word_set("i you he she it we they who this that these those everyone nobody")
_FUNCTION_WORDS = word_set(
    """
    a about above across after against all along also always an and another any around as at away
    back because before behind below between both but by down during each either every few for from
    here her his if in inside into it its less like many more most much my near never no not of off
    often on once only or our out over per quickly several since slowly so some soon than that the
    their them then there these they this those through to together too toward towards two under
    until up upon very via what when where which while with within without your
    """
)
_NOT_PAST = word_set(
    """
    bleed breed creed deed exceed fred greed heed hundred indeed naked reed rugged sacred seed shed
    shred sled speed weed wicked
    """
)

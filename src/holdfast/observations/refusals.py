"""Whether a sentence refuses, corrects or constrains, by its words alone.

The same words serve reports ("it does not work") and small talk ("no worries"). So these are taken
out of a sentence first, and what is left is looked through for the forms in which a person tells
another what not to do. What the person means is never interpreted: the sentence is quoted.
"""

from __future__ import annotations

import re

from holdfast.ground.patterns import compile_later
from holdfast.ground.prose import MASK

# Where a clause begins, so that a verb there is a request.
_START = (
    r"(?:^|[,;:.!(–—]\s*|-\s+|\b(?:and|but|so|then|or|please|pls|just|also|now|still|first|okay|ok"
    r"|well|yes|no)\s+)(?:please\s+|just\s+|also\s+|really\s+|and\s+|but\s+)?"
)
_WORD = rf"[\w{MASK}]"
_PEOPLE = (
    r"(?:we|i|he|she|they|ops|legal|security|management|product|marketing|finance|support|hr|infra"
    r"|compliance|devops|sre|qa|nobody|customers?|clients?|admins?|providers?|vendors?|auditors?"
    r"|(?:the|our|my) (?:team|client|customer|provider|vendor|boss|board|company|users?)"
    r"|[a-z]+ team)"
)

# Small talk, in which a negation refuses nothing.
_CHATTER = (
    (
        r"\bno (?:worries|problems?|rush|idea|clue|doubt|luck|thanks|thank you|way|wonder|pressure"
        r"|hurry|big deal|kidding|one knows|biggie|stress|matter|such|output|errors?|response"
        r"|results?"
        r"|difference|effect|sense|offen[cs]e|need$|need[,.!]|hay|sé|funciona|importa|pasa"
        r"|entiendo)\b"
    ),
    r"\bno (?:wait\b|changes? (?:needed|required|necessary|there|here|yet))",
    r"\bnot (?:working|an? (?:big )?(?:deal|issue|problem|bug|blocker))\b",
    (
        r"\bnot (?:bad|sure|exactly|really|again|yet|quite|kidding|necessarily|at all|even"
        r"|too|very|so|much"
        r"|that i|me|only|everything|always|found|angry|happy)\b"
    ),
    (
        r"\bwhy (?:not|don't)\b|\bor not\b|\bif not\b|\bif only\b|\bthe only\b|\bonly then\b"
        r"|\bnever mind\b"
    ),
    (
        r"\b(?:do not|don't|dont) (?:worry|hesitate|forget|mind|panic|get me wrong|you(?! dare)"
        r"|think so|work)\b"
    ),
    (
        r"\bi (?:(?:do not|don't|dont|didn't) (?:know|see|understand|get|remember|care|mind"
        r"|think(?! (?:we|you|it) should)))\b"
    ),
    r"\bcan(?:'t| not|not) (?:see|find|tell|wait|believe)\b",
    r"\b(?:there|you|that|this|something|they) must (?:be|have|know)\b|\bmust(?: have|'ve) been\b",
    r"\bit must be (?:the|a|an|some\w*|because|related|due|that|my|caused|broken)\b",
    r"\bi must (?:say|admit|confess|have|be)\b",
    (
        r"\bwithout (?:me\b|us\b|luck|success|problems?|issues?|errors?|a? ?doubt|warning"
        r"|any (?:luck|problems?))\b"
    ),
    r"\bkeep (?:going|me|in mind|up|on|calm|an eye|posted|track|trying|working|at it)\b",
    r"\brather (?!than)(?<!'d rather )(?<!would rather )\w+",
)
# What a program does or fails to do.
_REPORT = (
    (
        r"\b(?:does|did|is|are|was|were|has|have|had|could|would)(?:n't| not) (?!"
        r"(?:want|allow|accept|permit|in scope|part of|allowed|permitted|supported|acceptable"
        r"|an option|negotiable|to be|wanted"
        r"|needed|necessary|required|supposed to|ok\b|okay|up for|going to|welcome|our|what i"
        r"|right|correct))"
    ),
    (
        r"\b(?:it|this|that|which|tests?|build|page|server|app|container|script|job|button"
        r"|code|docker"
        r"|npm|service|process|command|ci) (?:still |just )?(?:won't|will not|can't|cannot"
        r"|never|only)\b"
    ),
    r"\bi (?:still )?(?:can't|cannot|never|only|won't be)\b",
    (
        r"\bit's not\b|\bthere(?:'s| is| are| was) no\b|\b(?:see|have|has|had|got|get|gives"
        r"|shows) no\b"
    ),
    (
        r"\b(?:returns|shows|gives|gets|prints|throws|says|displays|renders|opens|sends|goes"
        r"|loads|uses"
        r"|crashes|fails|comes|calls|takes|keeps|picks|creates|writes|reads|got|returned"
        r"|showed|is|was)"
        r"\b[^.,;]{0,60}\binstead\b"
    ),
    (
        r"\b(?:fails?|works?|worked|failed|runs|ran|tried|starts?|crash(?:es|ed)?|passes"
        r"|hangs|exits"
        r"|returns)\b[^.,;]{0,40}\b(?:without|only)\b"
    ),
    r"\bonly (?:happens|fails|works|shows|appears|occurs|breaks|affects|happened|failed)\b",
    (
        r"\bshould(?:n't| not) (?:happen|be happening|be (?:so|this|that|hard|possible)|fail|crash"
        r"|matter|take (?:so )?long)\b"
    ),
    (
        r"\bwe (?:do not|don't|can't|cannot|couldn't) (?:know|see|have|get|understand"
        r"|remember|think"
        r"|seem|reproduce|find)\b"
    ),
    r"\bgoing to (?:work|happen|help)\b|\b(?:whether|if) (?:we|you|they|it) never\b",
)
_DIRECTIVE = (
    rf"{_START}(?:do not|don't|dont|never)\s+{_WORD}",
    r"\blet(?:'s| us) not\b|\bnot to \w|\bwe(?:'re| are) not \w+ing\b",
    r"\b(?:doesn't|does not|don't|do not) (?:want|allow|accept|permit)\b",
    r"\bdon't think (?:we|you|it) should\b",
    r"\bmay not (?!be\b|have\b|work\b|know\b)\w",
    r"\bi (?:said|meant|want(?:ed)?)\b.{1,40}?\bnot\b",
    r"\b(?:absolutely|so|definitely|really|therefore) no \w",
    r"\b(?:off the table|out of the question|no[- ]go)\b|\bnothing (?:may|must|should|can)\b",
    r"\b(?:ask|check with) (?:me|us|first)\b|\bask before\b|\bwait for my\b",
    rf"{_START}(?:skip (?!to\b)\w|revert\b|undo\b)",
    r"\b\w+ only[.!]?$",
    (
        r"\b(?:needs?|has|have) to stay\b(?! (?:above|below|under|over|within|at|between))"
        r"|\bstays? (?:where|as|the way)\b"
    ),
    rf"{_START}(?:everything|everyone|all|anything) (?:except|but)\b|\b(?:not|n't) supposed to\b",
    r"\bwe (?:already )?(?:agreed|decided)\b|\b(?:i'm|i am|we're|we are|is|are) against\b",
    r"\bi (?:really )?(?:do not|don't|dont) (?:want|like|need|accept|allow|trust|approve)\b",
    r"\bi (?:am|'m) not (?:going to|willing)\b|\bi'm not (?:going to|willing)\b",
    r"\bwe (?:really )?(?:do not|don't|dont|never|no longer) \w",
    r"\byou (?:do not|don't|dont) (?:need|have) to\b|\bno need to\b",
    r"\b(?:must|should|shall|may|can|will) never\b",
    r"\bmust(?:n't)?\b",
    r"\b(?:should|shall)(?:n't| not)\b",
    r"\bno longer (?:support|use|need|want|allow|accept)",
    rf"\b{_PEOPLE} (?:\w+ )?(?:won't|will not|wont) \w",
    (
        r"\b(?:we|you|they) (?:can't|cannot|can not|may not) (?:use|change|add|break|drop"
        r"|touch|rely"
        r"|depend|afford|require|run|have|ship|upgrade|modify|store|send|assume|remove|rename"
        r"|introduce"
        r"|deploy|expose|log|allow|wait|move|delete|install|write|keep|accept|trust|rewrite"
        r"|block)\b"
    ),
    r"(?:^|[,;:(–—]\s*|\b(?:and|but|or)\s+)not\s+[\w▯]",
    (
        r"\b(?:not|n't) (?:in scope|part of|allowed|permitted|supported|acceptable|an option"
        r"|negotiable"
        r"|to be|wanted|needed|necessary|required|up for|going to|welcome|what i)\b"
    ),
    r"^(?:and |but |ok,? |well,? )?no[,:;!–—-]+\s*\w+\W+\w",
    r"(?:^|[,;:(–—]\s*|\b(?:and|but|with|please|use|have|add|make|want)\s+)no\s+[\w▯]",
    (
        r"\bunder no circumstances\b|\bnobody (?:may|must|should|can)\b|\bno one (?:may|must"
        r"|should|can)\b"
    ),
    r"\binstead\b|\brather than\b|\b(?:would|'d) rather\b",
    r"^prefer\b|\bi(?:'d| would)? prefer\b",
    rf"{_START}only\s+(?!\d|(?:one|two|three|a few|some)\b|problem|thing|question)\w",
    (
        r"\b(?:use|change|touch|edit|run|allow|accept|show|keep|support|do|add|take|log|send"
        r"|store|read"
        r"|write|should|may|is|are|valid|allowed) only\b|\bnothing else\b"
    ),
    r"\bwithout\b",
    r"\bleave\b.{1,60}?\b(?:alone|as is|as it is|as they are|as-is|untouched|unchanged|in place)\b",
    (
        r"\bkeep\b.{0,60}?\b(?:old|existing|current|original|as is|as it is|as they are|unchanged"
        r"|untouched|compatible|the same|out of|away from)\b"
    ),
    r"\bstay out of\b|\bhands off\b|\boff[- ]limits\b|\bout of scope\b|\b(?:is|are) out\b",
    r"\b(?:forbidden|prohibited|banned|taboo|refrain from)\b",
    rf"{_START}avoid\s+\w|\b(?:should|must|to) avoid\b|{_START}stop \w+ing\b",
    r"\bthat(?:'s| is) (?:wrong|incorrect|not (?:right|correct|what))\b|\bi meant\b",
    r"^actually, (?!it\b|this\b|that\b|i\b|there\b|yes\b|no\b)\w+ \w",
)
_POLITE = (
    r"^(?:please,? )?(?:can|could|would|will) (?:you|we) (?:please |pls |maybe |just )?",
    (
        r"(?:not (?!see|find|tell|understand|hear|read|access|open|do)|leave\b|keep\b|stop \w+ing"
        r"|avoid )"
    ),
)
_CHATTER_ELSEWHERE = (
    (
        r"\bkein(?:e)? (?:problem|ahnung|sorge|eile|thema)\b|\bnicht schlecht\b"
        r"|\bweiß (?:es )?nicht\b"
        r"|\bwarum nicht\b|\b(?:funktioniert|geht|klappt|läuft|startet|lädt)(?: \w+){0,2} nicht\b"
    ),
    (
        r"\bpas (?:de (?:problème|souci)s?|mal)\b|\bne sais pas\b|\bpourquoi pas\b"
        r"|\b(?:marche|fonctionne|charge|démarre) (?:pas|plus)\b"
    ),
    r"没问题|没关系|不错|不知道|不客气|不清楚|为什么不|不工作|不起作用",
    (
        r"問題(?:ない|ありません|なし)|わから(?:ない|ん)|分からない|知らない|悪くない|動か(?:ない"
        r"|ん)|なぜ"
    ),
)
_ELSEWHERE = (
    (
        r"\b(?:nicht|kein|keine|keinen|keinem|keiner|niemals|nie|ohne|statt|anstatt|stattdessen|nur"
        r"|muss|müssen|sondern|lieber)\b"
    ),
    r"\b(?:nunca|jamás|sin|en vez de|en lugar de|solo|sólo|solamente|debe|tampoco)\b",
    (
        r"\b(?:n[e']\s?\w+(?:\s\w+)?\s(?:pas|plus|jamais|rien)|jamais|sans|au lieu d|plutôt"
        r"|uniquement"
        r"|seulement|aucune?|doit)\b"
    ),
    r"不要|别|不能|不用|不许|禁止|只|必须|而不是|无需|不得|不可|不应|不准",
    r"ないで|ではなく|じゃなく|禁止|だけ|のみ|必ず|代わりに|せずに|てはいけない|使わない|不要",
)

# One of these is in every such sentence; most sentences have none and need no pattern.
_CUES = frozenset(
    """
    actually against agreed all anything are ask avoid banned before but can't cannot check decided
    do doesn't don't dont everyone everything except forbidden hands i instead is keep leave let
    limits may meant must mustn't n't never no nobody not nothing off only out prefer prohibited
    rather refrain revert scope should shouldn't shall shan't skip stay stays stop taboo to undo
    wait we without won't wont wrong would
    nicht kein keine keinen keinem keiner niemals nie ohne statt anstatt stattdessen nur muss müssen
    sondern lieber nunca jamás sin vez lugar solo sólo solamente debe tampoco pas plus jamais rien
    sans lieu plutôt uniquement seulement aucun aucune doit
    """.split()  # noqa: SIM905
)
_FIRST_CJK = "\u2e80"

_FLAGS = re.IGNORECASE
_NOTHING_SAID = compile_later("|".join((*_CHATTER, *_REPORT, *_CHATTER_ELSEWHERE)), _FLAGS)
_REFUSES = compile_later("|".join((*_DIRECTIVE, *_ELSEWHERE)), _FLAGS)
_ASKS_POLITELY = compile_later("".join(_POLITE), _FLAGS)
_TOKEN = compile_later(r"[^\W\d_]+(?:'[^\W\d_]+)?|n't")
_REASON = compile_later(
    r"\b(?:because|since|due to|otherwise|so that|cause|as (?:we|it|they)|too \w+|breaks?|won't"
    r"|weil|denn|sonst|porque|parce que|sinon)\b|因为|否则|ので|から|: \w+ \w+",
    _FLAGS,
)


def is_refusal(sentence: str) -> bool:
    """Of a sentence in which everything that is not prose was masked."""
    words = _normalize(sentence)
    if not _has_cue(words):
        return False
    if words.endswith(("?", "？")):
        return bool(_ASKS_POLITELY.match(words))
    return bool(_REFUSES.search(_NOTHING_SAID.sub(MASK, words)))


def has_reason(sentence: str) -> bool:
    return bool(_REASON.search(_normalize(sentence)))


def _has_cue(sentence: str) -> bool:
    if max(sentence, default="") >= _FIRST_CJK:
        return True
    words = _TOKEN.findall(sentence.casefold())
    return not _CUES.isdisjoint(words)


def _normalize(sentence: str) -> str:
    return sentence.replace("’", "'").replace("\u02bc", "'").strip()

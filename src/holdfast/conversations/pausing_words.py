"""The words by which people stop for now, and those beside which they do not mean it.

They are data: `pausing` decides by them. Everything is compared in small letters with straight
apostrophes, clause by clause, and a clause must match from its first word to its last: "let's stop
here" stops, "let's stop here the second worker" has words that no pattern knows. English in full,
five other languages in the phrases that are usual.
"""

from __future__ import annotations


def join(*patterns: str) -> str:
    return "(?:" + "|".join(patterns) + ")"


def repeat(pattern: str) -> str:
    return f"(?: {pattern})*"


# By these a request begins, and no signal.
OPENING_VERBS = frozenset(
    """
    add adjust answer append apply assert bench benchmark bisect breathe build bump change check
    clean clear compare compile configure connect convert copy count create debug define delete
    deploy describe design detect disable discuss document download draft drop dump edit enable
    ensure evaluate examine execute expand explain export extend extract fetch fill find fire
    fix focus follow format generate give grep handle help ignore implement import improve
    include increase insert inspect install integrate investigate kill lint list load look lower
    mark measure merge migrate mock modify move open parse patch plot port prepare print profile
    provide publish pull put query raise read rebase rebuild reconsider record recover redo
    reduce refactor register release reload remove rename render reorder repeat replace report
    reproduce require rerun research reset resolve respond restart restore retry reuse revert
    review rewrite roll run scan search select send ship show simplify skip solve sort split
    suggest swap switch tell test tidy touch trace translate trigger try tune undo update
    upgrade upload use validate verify wire write zoom
    """.split()  # noqa: SIM905
)

# --- English: parts of a clause -------------------------------------------------------------------

# Written in one way before anything is compared, so that the patterns know one form of each.
SPELLINGS = (
    ("today", r"2day"),
    ("tonight", r"tonite|2nite"),
    ("tomorrow", r"tmrw|tmr|tomo|2moro|2morrow"),
    ("you", r"(?<=see )ya|(?<=catch )ya|(?<=to )ya|u"),
    ("i'm going to", r"imma|i'ma"),
    ("i'm", r"im|i am"),
    ("we're", r"we are"),
    ("i've", r"ive|i have(?= got)"),
    ("i'll", r"i will|i shall"),
    ("we'll", r"we will|we shall"),
    ("that's", r"thats|that is|that was|that'll be|that will be|this is|this was"),
    ("it's", r"it is"),
    ("let's", r"lets|let us"),
    ("can't", r"cant|cannot|can not"),
    ("going to", r"gonna"),
    ("want to", r"wanna"),
    ("have to", r"gotta|hafta|(?:'ve )?got to(?! (?:the|my|an?)\b)"),
    ("out of", r"outta"),
)
FILLER = (
    r"(?:really|just|probably|actually|honestly|kinda|sadly|unfortunately|definitely|finally|also"
    r"|already|then|again|please|pls|plz|thanks|thank you|thx|ty|guys|folks|everyone|mate|man|dude"
    r"|buddy|friend|team|sorry|though|tho|anyway|lol|haha|i think|i guess|quickly|sometime"
    r"|with (?:a )?(?:fresh|clear|rested) (?:eyes|head|mind|brain))"
)
_WEEKDAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_PART = r"(?:morning|afternoon|evening|night|week|weekend|session)"
_DAY = rf"(?:today|tonight|(?:the rest of )?(?:the|this|one) (?:day|{_PART}))"
_SHORT = r"(?:now|the moment|the time being|a while|a bit|(?:an?|a few|some) hours?)"
_MEAL = r"(?:lunch|dinner|breakfast|supper|food|coffee|sleep|rest|fresh air)"
_BREAK = r"(?:break|breather|nap|pause|rest|walk|shower|bite|snack|coffee)"
_CLOCK = r"\d{1,2}(?::\d\d)?(?: ?[ap]m| o'clock)"
_TIME = join(
    rf"tomorrow(?: {_PART})?|later(?: (?:today|tonight|on|this week))?"
    rf"|(?:a bit|a little) later|afterwards?",
    r"(?:another|some other) (?:day|time)|next (?:week|time|month|year|session|sprint)",
    rf"(?:on |next |this )?{_WEEKDAY}(?: {_PART})?|(?:at|around) {_CLOCK}",
    r"(?:first thing )?in the (?:morning|afternoon|evening)|tonight|this (?:evening|afternoon)",
    r"in (?:a|an|one|two|three|a few|a couple of|\d+) (?:hours?|days?|weeks?)",
    rf"after (?:{_MEAL}|work|(?:the|my|a) (?:\w+ )?(?:weekend|meeting|break|call|holidays?"
    rf"|vacation|nap))",
    r"(?:when|once|after) (?:i|i'm|i get|i come|i've|we|we're|we get) (?:back|home|in|land|arrive"
    r"|return|wake up|slept|eaten|rested|have (?:more )?time)(?: home)?",
)
# What belongs to life and not to a program.
_EVENT_NOUN = (
    r"(?:meeting|call|appointment|doctor|dentist|airport|station|gym|office|party|class|lesson"
    r"|lecture|interview|stand-?up|train|bus|flight|plane|ride|shift|practice|dinner|lunch)"
)
_EVENT = (
    rf"(?:a|an|my|the|another|our)(?: (?!first\b|last\b|old\b)[\w']+)? {_EVENT_NOUN}"
    rf"|(?:[\w']+ )?{_EVENT_NOUN}(?= (?:at|in) (?:\d|one|two|five|ten))"
)
_FOLK = (
    r"(?:my|our) (?:kids?|daughters?|sons?|child(?:ren)?|boys?|girls?|wife|husband|partner|parents"
    r"|mum|mom|dad|girlfriend|boyfriend|guests|friends?|family|dog|cat|baby)"
    r"|the (?:kids|dog|cat|baby|family|babysitter)"
)
# Verbs beside "for today" that say something else than stopping.
_NO_STOP = "|".join([*sorted(OPENING_VERBS), "be|have|do|keep|wait|not|go|work|start|continue"])
# Each part is recognised once and stands as a mark in the clause: a pattern that repeats them takes
# longer to compile than an agent can be kept waiting.
MARKS = (
    ("UNTIL", rf"(?:until|till|'?til) (?:{_TIME}|{_CLOCK}|\d{{1,2}}(?= ?$)|then)(?!\w)"),
    ("FORDAY", rf"\bfor {_DAY}(?!\w)"),
    ("FORNOW", rf"\bfor (?:{_SHORT}|{_MEAL})(?!\w)"),
    ("LATER", rf"\b{_TIME}(?!\w)"),
    ("EVENT", rf"\b(?:{_EVENT})(?!\w)"),
    ("FOLK", rf"\b(?:{_FOLK})(?!\w)"),
)
FOR_DAY, FOR_NOW, LATER, _UNTIL = "FORDAY", "(?:FORDAY|FORNOW)", "LATER", "UNTIL"
_PLACE = join("(?:right )?here", "there", "at this point", "(?:right )?now", FOR_NOW, _UNTIL)
_TALK = r"(?:conversation|session|chat|discussion|thread)"
LEAD = join(
    r"ok|okay|k|kk|alright|all right|aight|right|well|so|anyways?|hey|hi|hmm+|uh+|um+|oh|ah|ugh"
    r"|wow|yeah|yes|yep|great|cool|perfect|nice|good|thanks|thank you|thx|sorry|actually|honestly",
    r"unfortunately|sadly|please|pls|plz|now|then|just|btw|fyi|guess|maybe|perhaps|probably|finally"
    r"|and|but|lol|guys|folks|everyone|team|man|dude|mate|for me|(?:on|from) my side|also|really",
    r"i(?:'d)? (?:think|guess|believe|suppose|feel like|say)|i'm afraid|looks like|seems like",
)
_ASKING = join(
    r"(?:can|could|may) (?:we|i)(?: please)?",
    r"(?:do you |would you )?mind if (?:we|i)",
    r"(?:is it|would it be) (?:ok|okay|fine|all right|alright) (?:if|when) (?:we|i)",
    r"(?:how|what) about (?:we|if we)|why don't we",
)
_WISH = (
    r"(?:have to|need to|must|better|ought to|going to(?! run\b)|about to|want to|would like to"
    r"|'d like to|'d rather|will have to|'ll have to)"
)
# Who stops. One who must, will or is about to do it may also leave; "let's go" is a beginning.
DOERS = (
    ("MUST", rf"(?:i|we)(?:'ve|'d|'m|'re|'ll| had)? ?(?:{_WISH}|should)(?= )"),
    (
        "MUST",
        r"(?:i|we)(?:'\w+)? (?:(?!(?:not|never|how|forgot|\w+ed)\b)\w+ ){1,2}to(?= )(?! run\b)",
    ),
    ("MUST", rf"{_WISH}(?= )|(?:it's )?(?:about )?time (?:for (?:me|us) )?to(?= )"),
    ("MUST", r"(?:i|we)'ll(?= )"),
    ("LETS", r"(?:let's|let me|i (?:suggest|propose|say|vote)(?: that)?(?: we| to)?)(?= )"),
    ("LETS", r"(?:i|we) (?:can|could|would|may|might as well|may as well)(?= )"),
    ("LETS", rf"(?:{_ASKING}|we|i'd)(?= )"),
)
# "I'm heading home" and "heading home" are read as "I will head home".
DOING = (
    r"(?:(?:i'm|we're|(?:i|we)'ll be|now|MUST be) )*((?!runn|morn|even|meet|noth|someth)\w+)ing\b"
)
_DOER = "(?:LETS|MUST)"

_COULD_YOU = r"(?:can|could|would|will) you(?: kindly| be so kind as to| be able to)?"

# --- English: whole clauses -----------------------------------------------------------------------

_STOP = (
    r"(?:stop(?: work(?:ing)?| coding)?|pause|end|quit|halt|finish|break off|leave off|wrap up"
    r"|close|suspend|conclude|hit pause|adjourn)"
)
_PARK = r"(?:park|shelve|table|postpone|put|set|leave|save|suspend|pause|stop)"
_STOPPING = join(
    rf"{_DOER} {_STOP}(?: (?:(?:this|our) {_TALK}|things))?(?: {_PLACE})+",
    rf"{_DOER} (?:stop|pause|end|close|finish|conclude) (?:this|our|today's) {_TALK}",
    rf"LETS (?:end|close|finish|wrap up|conclude) the {_TALK}(?: {_PLACE})+",
    rf"{_DOER} (?:break|(?:stop|pause) the {_TALK}) (?:here )?(?:{FOR_NOW}|{_UNTIL})",
    rf"{_DOER} (?:end|leave|close|wrap) (?:it|this|things)(?: up| at that)?(?: {_PLACE})+",
    # As an order too, where the time says that it is meant for people.
    rf"(?:(?:{_DOER}|you can|you may) )?(?:stop|pause|finish|quit|end|break|leave|park|wrap|knock"
    rf"|shut|pack|close|switch)(?: (?:this|things|it(?= up| in| here| there| FORDAY)))?"
    rf"(?: (?:up|off|down|in|work|working|coding))?(?: here| there| now)? (?:{FOR_DAY}|{_UNTIL})",
    rf"(?:{_DOER} )?call it (?:a day|a night|an evening|quits|a wrap|here|there|{FOR_DAY})"
    rf"(?: {_PLACE})*",
    rf"(?:LETS {_PARK} (?:this|it|things|everything)|MUST {_PARK} (?:this|things))"
    rf"(?: aside| on hold| on ice| away| off)? (?:{FOR_DAY}|{_UNTIL}|for {LATER})",
    # Any verb, as long as nothing is named that it could be done to, not even by "it".
    rf"{_DOER} (?!(?:{_NO_STOP})\b)\w+(?: (?:here|there|up|down|off|out|over|work|working"
    rf"|coding|(?:this|our|today's) {_TALK}))*"
    rf" (?:{FOR_DAY}|{_UNTIL})",
    r"i(?:'m|'ve|'d|'ll)? ?(?:have to|need to|must|should|going to|want to|like to) (?:stop"
    r"|pause|quit|wrap up)(?: now)?|i'm (?:stopping|pausing|quitting|wrapping up)(?: now)?",
    rf"{_DOER} cut (?:this|it) short(?: {_PLACE})*|{_DOER} take it from (?:here|there) {LATER}",
    rf"{_DOER} (?:put|stick) a pin in (?:it|this|things)(?: {_PLACE}| {LATER})*",
)
_GOOD_PLACE = (
    r"(?:(?:that's|it's|this seems|that seems|we're at)(?: like)? )?(?:a |the )?(?:good|natural"
    r"|nice|fine|great|sensible|right) (?:(?:stopping|pausing|breaking|resting|break|cut-?off)"
    r" (?:point|place|spot)|(?:point|place|time|moment|spot) to (?:stop|pause|end|break|wrap up"
    r"|leave off|leave it|call it(?: a day)?))"
)
_ENOUGH = join(
    rf"(?:that's |it's |its )?(?:me |us )?(?:about |quite |more than |all |well )*"
    rf"(?:enough|all|it|plenty|a wrap|everything|done|finished|me|my time|no more|off)(?: i have"
    rf"| from me| done| off| out| work| coding| debugging| progress| fun)? {FOR_DAY}",
    r"that's (?:all|it|enough|everything|plenty)(?: i (?:have|had|need|needed)| from me)?"
    r" today",
    rf"(?:i'm|we're) (?:all )?(?:done|finished|through|set(?= {FOR_DAY}))(?: with (?:work"
    rf"|coding|this)(?= {FOR_DAY}))? (?:here|today|{FOR_NOW})",
    rf"(?:i|we)(?:'ve)? (?:had|did|done) enough(?: work| coding| of this)? {FOR_DAY}",
    rf"(?:this|that) (?:concludes|ends|completes) (?:today's|our|this) {_TALK}(?: {FOR_DAY})?",
    rf"(?:that'll|that will) do {FOR_DAY}|(?:eod|end of day) for (?:me|us)|{_GOOD_PLACE} {FOR_DAY}",
)
_AWAY = rf"(?:bed|home|work|school|class|town|sleep|{_MEAL}|EVENT|(?:a|my|the) (?:\w+ )?{_BREAK})"
# What a person does away from the screen.
_ACTIVITY = join(
    rf"(?:(?:go|get|head|drive|rush|run|be off|off|hurry)(?: back| out| off)?(?: to| into| for)? )"
    rf"{_AWAY}|bed|home|sleep|eat|cook",
    rf"(?:get|grab|have|make|eat|cook|fix|prepare|take|buy)(?: some| a| my| the| something for)*"
    rf"(?: quick| bit of)? (?:{_MEAL}|{_BREAK})(?: for FOLK)?",
    r"(?:catch|join|attend|hop on(?:to)?|jump (?:on(?:to|)|into)|make|make it to|get on|be at|be in"
    r"|leave|leave for|prepare for|take|start) EVENT|cook for FOLK",
    r"(?:go )?(?:pick up|pick|fetch|collect|feed|walk|take|get|put|bring|drive|drop off|look after"
    r"|help|meet|check on|call|take care of|see) FOLK(?: (?:up|out|off|home|over))?"
    r"(?: (?:to|from|for|at|into)(?: \w+){1,2})?",
    r"hit the (?:road|sack|hay|bed|gym)|(?:shut|close) (?:the|my) laptop|go (?:and |to )?(?:eat"
    r"|sleep|cook)|go (?:out )?for an? \w+|lie down|get back to (?:FOLK|work)"
    r"|(?:get|get some) (?:ready for )?(?:bed|shut-?eye)",
)
_LEAVE = (
    r"(?:go|run|leave|dash|jet|bounce|scoot|bail|fly|rush|drop(?: off)?|jump(?: off)?|hop off"
    r"|head (?:out|off|home|back|over)|(?:get|be|start) (?:going|moving|leaving)|be (?:off|gone|out"
    r"|away|afk)|get (?:home|off|out of here)|take off|(?:log|sign|clock) (?:off|out)|knock off"
    r"|pack up|turn in|step (?:away|out)|go (?:home|offline|afk|out|away|dark)|be offline|going"
    r"|off)"
)
_WHEN = (
    rf"(?: (?:now|soon|shortly|asap|early|today|here|{FOR_NOW}|{_UNTIL}|for (?:EVENT|work|FOLK)"
    rf"|in (?:a|\d+|five|ten)(?: few)? min(?:ute)?s?))*"
)
_GOING = join(
    rf"MUST (?:{_LEAVE}|{_ACTIVITY}){_WHEN}",
    rf"(?:i'm|we're) (?:now |almost |about )?(?:off|out|gone|away|afk|offline|out of here)"
    rf"(?: to {_AWAY})?{_WHEN}",
    rf"off to {_AWAY}{_WHEN}|(?:off|out) {FOR_DAY}",
    rf"(?:it's )?(?:(?:way )?past my bed ?time|time for (?:{_AWAY}|a {_BREAK})|(?:bed|break|home) "
    r"?time)",
)
_RESUME = (
    r"(?:continue|resume|carry on|go on|keep going|proceed|reconvene|regroup|talk|speak|chat|meet"
    r"|pick (?:(?:this|it|things|that) )?(?:back )?up|(?:get|come) back(?: (?:to|at) (?:this"
    r"|it))?|be back|return(?: to (?:this|it))?)"
    rf"(?: (?:this|it|here|working|more|from (?:here|there|home)|with (?:this|it|the rest)"
    rf"|where we (?:left off|stopped|are)|(?:our|this|the) {_TALK}|the rest|to you))*"
)
_REST = (
    r"(?:the rest|everything else|the remainder|what's left|the (?:remaining|other|last) \w+"
    r"|the rest of (?:it|this))"
)
_RESUMING = join(
    rf"(?:(?:{_DOER}|will) )?{_RESUME}(?: {LATER})+",
    rf"{LATER} (?:i|{_DOER}) {_RESUME}",
    rf"(?:will )?be back {LATER}|back {LATER}",
    rf"(?:{_DOER}|will) (?:finish|continue|wrap|wrap up)(?: (?:this|it|that|{_REST}))?(?: up| off)?"
    rf" {LATER}",
    rf"{_DOER} (?:do|tackle|handle|look at|work on|see) {_REST} {LATER}",
    rf"(?:{_DOER} )?(?:leave|keep|save|do) {_REST} (?:(?:for )?{LATER}|{_UNTIL})",
    rf"{_REST} (?:can|will|has to|will have to) wait (?:(?:for )?{LATER}|{_UNTIL})",
    rf"(?:the rest|rest|more) {LATER}|to be continued(?: {LATER})?|LATER(?:'s| is) another day",
)
_BREAKING = join(
    rf"{_DOER} (?:take|have|make|grab) (?:a|my|our) (?:short |quick |little |long |lunch |coffee )*"
    rf"(?:break|breather|pause)(?: {_PLACE}| {LATER})*|{_DOER} take (?:five|ten)",
    rf"(?:i )?need (?:some )?{_MEAL}(?: now)?",
    rf"i (?:need|want|could use) a (?:short |quick |long )?(?:break|breather|nap)(?: {_PLACE})*",
    rf"{_DOER} take (?:the|this) (?:rest of the )?(?:day|morning|afternoon|evening|week|night) off",
    rf"(?:(?:{_DOER}|{_COULD_YOU}) )?save (?:(?:this|our|my) (?:{_TALK}|progress|work|place)"
    rf"|where we(?:'re| are| left off| stopped))(?: (?:{_PLACE}|for {LATER}))*",
)
_PARTING = join(
    rf"(?:see you|cu|c u|cya|catch you|talk(?: to you)?|speak)(?: {LATER})+|{_UNTIL}"
    r"|(?:see|catch) you (?:then|soon|around)|same time LATER|farewell(?: FORNOW)?",
    r"good ?night|gn8?|g'night|night night|nighty night|sleep well|ttyl|gtg|g2g",
)

# --- other languages ------------------------------------------------------------------------------

_DE_LATER = (
    r"(?:morgen(?: früh)?|später|nachher|heute (?:abend|nachmittag)|nächste woche|ein andermal"
    r"|(?:am )?(?:mon|diens|donners|frei|sams|sonn)tag|(?:am )?mittwoch|nächstes mal"
    r"|nach (?:dem|der) (?:essen|pause|meeting|mittagspause|wochenende|urlaub))"
)
_DE_TODAY = (
    rf"(?:(?:für|fuer) (?:heute|jetzt|den moment|diese woche)|hier|jetzt|an dieser stelle"
    rf"|bis (?:{_DE_LATER}|dann))"
)
_DE_SMALL = r"(?: (?:jetzt|leider|gleich|langsam|dann|mal|nun|schon|auch|noch|kurz|erst))*"
_DE_AWAY = (
    r"(?:los|weg|gehen|fort|ins (?:bett|meeting|büro|wochenende)|nach hause|heim|schlafen|essen"
    r"|aufhören|schluss machen|offline(?: gehen)?|in (?:ein|die|den|eine) (?:meeting|besprechung"
    r"|termin|feierabend|mittagspause|pause)|zu(?:m|r) (?:zug|bus|arzt|zahnarzt|termin|bahnhof"
    r"|flughafen|meeting|essen|sport|arbeit)|(?:mein(?:e|en)?|die|den) (?:kinder|sohn|tochter|kind"
    r"|hund|zug|bus) (?:abholen|holen|erwischen|kriegen|nehmen|füttern|ins bett bringen))"
)
_GERMAN = join(
    rf"(?:lass|lasst) uns(?: {_DE_TODAY})+ (?:aufhören|schluss machen|pausieren|stoppen"
    rf"|unterbrechen|eine pause machen)",
    rf"(?:lass|lasst) uns (?:das|hier|alles|den rest) (?:auf |bis )?{_DE_LATER} (?:vertagen"
    rf"|verschieben|liegen lassen|machen)",
    rf"(?:machen wir|wir machen|ich mach(?:e|'s)?)(?: mal)?(?: {_DE_TODAY})* (?:schluss|feierabend"
    rf"|eine pause)(?: {_DE_TODAY})*",
    rf"(?:hören wir|ich höre?)(?: {_DE_TODAY})+ auf|feierabend"
    rf"|(?:für heute )?(?:ist )?(?:bei mir |jetzt )?(?:schluss|genug|feierabend)(?: für heute)?"
    rf"(?:(?<=heute)|(?<=feierabend))",
    r"(?:das )?(?:reicht(?:'s|s)?|war'?s|war es|ist genug|genügt|war alles)(?: dann| mir)* für"
    r" heute",
    r"für heute (?:reicht(?: es|'s|s)|ist schluss|war'?s das|bin ich (?:fertig|raus|durch)|mache"
    r" ich schluss)(?: mir)?|ich bin(?: dann)? für heute (?:raus|fertig|durch|weg)",
    rf"ich muss{_DE_SMALL} {_DE_AWAY}|ich (?:gehe?|bin|fahre?){_DE_SMALL} (?!gehen){_DE_AWAY}",
    rf"(?:lass uns|wir (?:wollen|können|sollten)|ich will)?(?: ?(?:das|hier))* ?{_DE_LATER}"
    rf" (?:hier )?(?:weitermachen|fortsetzen|weiterreden)",
    rf"(?:machen wir|wir machen|ich mache?|weiter geht es|weiter geht's|es geht)(?: (?:hier|dann))*"
    rf" {_DE_LATER}(?: weiter)?(?<=weiter)|{_DE_LATER} (?:machen wir|mache ich|geht es"
    rf"|geht's) weiter",
    rf"(?:dann )?{_DE_LATER} weiter|weiter {_DE_LATER}|der rest (?:kann|hat zeit) bis {_DE_LATER}"
    r"(?: warten)?",
    rf"bis (?:{_DE_LATER}|dann|bald)|gute nacht|schönen feierabend",
)
_ES_LATER = (
    r"(?:mañana|luego|más tarde|el (?:lunes|martes|miércoles|jueves|viernes)|otro día|otro rato"
    r"|la próxima semana|la semana que viene|después|esta (?:tarde|noche))"
)
_ES_TODAY = r"(?:por (?:hoy|ahora|esta noche)|aquí|ya|ahora)"
_ES_AWAY = (
    r"(?:a (?:dormir|comer|cenar|almorzar|casa|la cama|una reunión|trabajar|descansar)|al (?:médico"
    r"|dentista|trabajo|gimnasio|aeropuerto))"
)
_SPANISH = join(
    rf"(?:paremos|dejémoslo|lo (?:dejo|dejamos)|dejamos|pausemos|terminemos|terminamos|acabamos"
    rf"|paramos|(?:vamos|voy) a (?:parar|dejarlo|terminar|descansar))(?: {_ES_TODAY})+",
    r"(?:ya |eso |con esto |esto )*(?:es |está )?(?:suficiente|todo|bastante|bien|basta|está) por"
    r" hoy",
    r"por hoy (?:ya )?(?:es suficiente|está bien|basta|hemos terminado|es todo|lo dejo|lo dejamos)",
    rf"(?:me )?(?:tengo que|debo|necesito)(?: {_ES_TODAY})* (?:ir|irme|marcharme|salir|dormir"
    rf"|colgar|(?:ir|irme) {_ES_AWAY}|(?:recoger|buscar) a (?:los niños|mis? (?:hij[oa]s?|niños))"
    rf"|(?:coger|tomar) (?:el|un) (?:tren|autobús|avión|vuelo))(?: {_ES_TODAY})*"
    rf"(?<!tengo que ir)(?<!debo ir)|me tengo que ir(?: {_ES_TODAY})*",
    rf"(?:ya )?me voy(?: (?:ya|ahora|{_ES_AWAY}))*",
    rf"(?:lo |mejor )*(?:continuamos|seguimos|sigamos|continuemos|retomamos|retomemos)(?:lo)?"
    rf" {_ES_LATER}",
    rf"{_ES_LATER} (?:lo )?(?:seguimos|continuamos|retomamos|sigo)|el resto {_ES_LATER}",
    rf"(?:hasta|nos vemos) (?:{_ES_LATER}|pronto|la próxima)|buenas noches",
    rf"(?:hagamos|hacemos|tomemos) una pausa(?: {_ES_TODAY})*",
)
_FR_LATER = (
    r"(?:demain(?: (?:matin|soir))?|plus tard|(?:lun|mar|mercre|jeu|vendre)di|ce soir"
    r"|la semaine prochaine|la prochaine fois|après le (?:déjeuner|repas|week-end)|tout à l'heure)"
)
_FR_TODAY = r"(?:pour (?:aujourd'hui|ce soir|le moment|l'instant|cette semaine)|là|ici)"
_FR_AWAY = (
    r"(?:(?:aller )?(?:dormir|manger|déjeuner|dîner|au lit|me coucher|en réunion|au travail)"
    r"|(?:aller )?chercher (?:les|mes) enfants|prendre (?:le|un|mon) (?:train|bus|avion))"
)
_FRENCH = join(
    rf"(?:on (?:va )?s'arrête(?:r)?|arrêtons[- ]nous|arrêtons|je m'arrête|je vais m'arrêter"
    rf"|j'arrête|on arrête|restons-en|on (?:va )?en reste(?:r)?)(?: {_FR_TODAY})+",
    r"(?:(?:c'est|ça ira|ce sera|ça sera|ça|voilà|c'est bon|voilà c'est) )?(?:assez|tout|fini"
    r"|suffit|terminé|bon|ça ira) pour (?:aujourd'hui|ce soir|cette semaine)"
    r"|ça ira pour aujourd'hui",
    rf"je (?:dois|vais devoir|vais)(?: (?:maintenant|malheureusement|vraiment))* (?:y aller|partir"
    rf"|filer|me sauver|(?:vous|te) laisser|{_FR_AWAY}|m'arrêter(?: {_FR_TODAY})+)"
    r"(?: maintenant)?",
    r"il faut que (?:j'y aille|je parte|je file|je m'arrête(?: là| ici)?)(?: maintenant)?|je file"
    r"|je me sauve|je (?:vous|te) laisse",
    rf"(?:on|nous)? ?(?:continue|continuera|continuons|reprend|reprendra|reprenons|finira|finit"
    rf"|verra)(?: (?:ça|cela|tout ça|le reste|la suite))? {_FR_LATER}|(?:la suite|le reste)"
    rf" {_FR_LATER}",
    rf"{_FR_LATER} on (?:continue|reprend)|à (?:{_FR_LATER}|bientôt|la prochaine)",
    rf"bonne nuit|(?:faisons|on fait) une pause(?: {_FR_TODAY})*",
)
_ZH_LATER = r"(?:明天|下次|改天|回头|晚点|晚上|下午|明早|待会儿?|下周|周[一二三四五])"
_ZH_AWAY = (
    r"(?:走|撤|下班|下线|下|睡觉?|休息|吃个?饭|吃午饭|回家|开会|闪人|离开|接孩子|赶车|出门|忙别的)"
)
_CHINESE = join(
    r"(?:那|好|好了|好的|嗯|行|我们|咱们|先|就)*今天(?:我们|咱们)?(?:就|先)*(?:到|做到|聊到|弄到"
    r"|停在)(?:这里|这儿|这|此|此为止)(?:吧|了|为止|啦)*",
    r"(?:那|好|我们|咱们|就|今天)*(?:到此为止|先?这样|就?先?到这里|就?先?到这儿?|告一段落"
    r"|先停在这里?|先停一下|先停)(?:(?:吧|了|啦)+|(?<=先这样)|(?<=为止))",
    rf"(?:那|好|好了)*我?(?:要|得|该|先|必须|现在|去)+{_ZH_AWAY}(?:了|啦|一下)+",
    r"(?:那|好|好了)*我(?:要|得|该|先|必须|现在|去)+(?:走|撤|下班|下线|睡觉|吃个?饭|回家|开会"
    r"|接孩子)",
    rf"(?:那|我们|咱们|剩下的|其余的)*{_ZH_LATER}(?:我们|咱们)?"
    r"(?:再|接着|继续)+(?:继续|接着|聊|说|弄|做|来|搞)*(?:吧|了)?",
    r"(?:我们|咱们)?(?:先)?(?:休息一下|收工|下班|歇会儿|休息)(?:吧|了|啦)+|收工|先休息一下",
    rf"晚安|{_ZH_LATER}见|(?:今天)?(?:就)?(?:够了|够啦)?今天够了",
)
_JA_POLITE = r"(?:ね|よ|か|な|。)*"
_JA_LEAD = (
    r"(?:では|じゃあ?|それでは|とりあえず|一旦|いったん|そろそろ|もう|すみません|ごめん|少し)*"
)
_JA_LATER = r"(?:明日|後で|あとで|後ほど|来週|今度|次回|午後)"
# Why: "as I have a meeting", which is said in the same clause.
_JA_AS = r"(?:(?:もう)?(?:[^をがはで、]{1,8}[がはを])?[^をがはで、]{1,12}(?:ので|から))?"
_JAPANESE = join(
    rf"{_JA_LEAD}(?:今日|本日|今夜|今回)(?:は|の作業は)(?:もう)?"
    rf"(?:ここまで|これで終わり|終わり|おしまい|これくらい|これで|(?:このへん|この辺)(?:で終わり)?)"
    rf"(?:に(?:しよう|しましょう|します|しておきます|しておこう|しとく|する)|で(?:お願いします)?"
    rf"|失礼します|です|だ)?{_JA_POLITE}",
    rf"{_JA_AS}{_JA_LEAD}(?:(?:会議|ミーティング|病院|お昼|昼食|ご飯|仕事|迎え|買い物)に)?"
    r"(?:行かないと(?:いけないので|いけません|いけない)?|行かなきゃ|行かなくちゃ|行ってきます|帰らないと"
    r"|帰ります|帰る|寝ます|寝る|寝ないと|失礼します|出ないと|出かけます|落ちます|上がります"
    rf"|退勤します){_JA_POLITE}(?<!^失礼します)(?<!^行かないといけない)",
    rf"{_JA_LEAD}(?:続き|残り)は(?:また)?{_JA_LATER}(?:に|で|やります|お願いします|しましょう|しよう"
    rf"|します)*{_JA_POLITE}",
    rf"{_JA_LEAD}(?:また{_JA_LATER}|{_JA_LATER}また)(?:続けます|続けましょう|続けよう|再開しましょう"
    rf"|再開します|お願いします|やります|やりましょう)?{_JA_POLITE}",
    rf"{_JA_LATER}(?:また)?(?:続けます|続けましょう|続けよう|再開します|再開しましょう|続きを"
    rf"(?:やります|やりましょう|やろう|します|しましょう)){_JA_POLITE}",
    rf"{_JA_AS}(?:ちょっと|少し|一旦|いったん|ここで|そろそろ)+(?:休憩(?:します|しましょう|しよう"
    rf"|する)?|中断します|中断しましょう|区切ります|区切りましょう|終わりにします|終わりにしましょう)"
    rf"{_JA_POLITE}|(?:お昼|休憩)にしましょう{_JA_POLITE}",
    r"おやすみ(?:なさい)?|お先に失礼します|さようなら",
)

STRONG = join(*(_STOPPING, _ENOUGH, _GOING, _RESUMING, _BREAKING, _PARTING))
EUROPEAN = join(
    rf"(?:(?:gut|also|danke|leider) )*{_GERMAN}(?: (?:danke|bitte))*",
    rf"(?:(?:bueno|vale|bien|gracias|perdón|pues) )*{_SPANISH}(?: (?:gracias|por favor))*",
    rf"(?:(?:bon|bien|alors|merci|désolée?) )*{_FRENCH}(?: (?:merci|stp|svp))*",
)
EAST_ASIAN = join(_CHINESE, _JAPANESE)
# A clause with one of these is in none of the other languages.
ENGLISH = frozenset({"the", "i", "i'm", "i'll", "we", "let's", "to", "you", "is", "it", "this"})

# A request in the form of a question; any other question asks for an opinion.
ASKED = rf"(?:{_ASKING}|{_COULD_YOU}) .*"

# Signals only where nothing else is said but courtesies and how tired one is.
WEAK = join(
    rf"{_DOER} (?:stop|pause|wrap up|wrap (?:it|this|things) up|quit|finish up|leave it (?:here"
    rf"|there)|call it|adjourn|hit pause|crash|stop this|pause this)(?: now| here)?",
    rf"{_DOER} (?:park|shelve|table|sleep on) (?:this|it|things)(?: {FOR_NOW})?|{_GOOD_PLACE}"
    rf"(?: {_PLACE})*",
    r"that's (?:about |quite )*(?:enough|all|it|plenty)(?: from me)?(?: FORNOW)?|(?:that'll"
    r"|that will) do(?: FORNOW)?|(?:enough|done) FORNOW|enough|we're done|that's me(?: done| off)",
    r"(?:good ?)?bye(?: bye)?(?: FORNOW)?|bye-bye|see you|cya|laters|take care|peace(?: out)?"
    r"|so long|night|tbc|bed|time's up",
    r"have a (?:good|nice|great|lovely) (?:day|evening|night|weekend|one|rest of (?:the|your) day)",
    r"over and out|tschüss|tschüs|ciao|auf wiedersehen|adiós|adios|chao|au revoir|bonne soirée",
    r"再见|拜拜|お疲れ様でした|お疲れさまでした|失礼します|(?:eso|esto) es todo|c'est tout"
    r"|ça suffit|das war's|das reicht|das wars|够了",
)

# --- what stands beside them ----------------------------------------------------------------------

_WRAP_UP = (
    r"(?:save|saving|commit|push|stash|note|remember|remind|summari[sz]e|jot|bookmark|store"
    r"|write (?:it|this|that|everything|up|down)|keep (?:this|it|the|everything|that|a note)"
    r"|(?:make|leave|take)"
    r" (?:a note|notes)|don't forget|do not forget|park|close this|checkpoint)"
)
NEUTRAL = join(
    rf"(?:can you |could you |would you |you can |let's |i'll |to |first )*{_WRAP_UP}\b.*",
    r"(?:.{0,12} )?(?:thanks|thank you|thx|tysm|ty|cheers|much appreciated|appreciate|great"
    r"|good|nice|awesome|excellent|well done|amazing|perfect|brilliant|sorry|apologies|hello|hi"
    r"|hey|dear|best|regards|kind regards|sincerely|lovely|no worries|no rush|no hurry"
    r"|sounds good|if you"
    r" don't mind|if that's (?:ok|okay|fine|all right|alright)|if it's (?:ok|okay))\b.*",
    r"danke|vielen dank|gracias|muchas gracias|merci|merci beaucoup|谢谢.{0,4}|辛苦了?|多谢|好的?"
    r"|好了|ありがとう.{0,8}|了解.{0,4}|お疲れ様.{0,4}|すみません|(?:bitte )?speicher.{0,30}"
    r"|guarda.{0,30}|sauvegarde.{0,30}|enregistre.{0,30}|保存.{0,12}|记得保存.{0,6}"
    r"|.{0,12}保存して.{0,8}|gut gemacht|buen trabajo|bon travail|super|prima|genial"
    r"|déjalo guardado",
    r"(?:it's |it was |that was |that's |what )?(?:been )?a (?:long|hard|good|productive|great)"
    r" (?:day|night|week|session).*|long day.*|no rush.*",
    r"we(?:'ve)? (?:got|did|done|made|achieved)\b.*\b(?:lot|plenty|enough|progress|much)\b.*",
    r"(?:my|the|our) (?:(?:next )?meeting|ride|taxi|uber|boss|eyes?|head|shift|day|alarm|guests"
    r"|parents|laptop|phone|battery)\b.*|(?:FOLK|EVENT)\b.*",
)
# Why one stops: no request, although some of them look like one. In marked clauses.
REASON = join(
    r"(?:i'm|we're)(?: \w+){0,3} (?:tired|exhausted|beat|hungry|sleepy|late|spent|fried|out of"
    r" (?:time|steam|energy|juice)|knackered|wiped|sick|starving|asleep|board)\b.*",
    rf"(?:it's|its)(?: \w+){{0,3}} (?:late|midnight|{_WEEKDAY}|LATER|night|(?:\d{{1,2}}(?::\d\d)? ?"
    r"(?:am|pm)?|past \w+)|weekend|lunchtime|dinner time)\b.*",
    r"i can't (?:think|concentrate|focus|keep|see straight)\b.*|running (?:late|out of time)"
    r"|(?:some(?:thing|one|body)(?:'s)?|duty) (?:came up|calls|at the door|is at the door)",
    r"(?:i|we)(?:'ve got|'ve| have| got) (?:EVENT|FOLK|guests|visitors|an? \w+ to catch)\b.*",
    r"(?:my )?(?:brain|battery|laptop|kids|dinner|lunch|food|baby|train|bus|ride|taxi|wife|husband)"
    r"(?:'s| is| are| needs?| leaves)(?: \w+){1,6}",
    rf"EVENT(?:'s)?(?: (?:at|in) .{{1,15}})?|{_ACTIVITY}"
    rf"|LETS (?!(?:{_NO_STOP})\b)\w+ (?:this|things)",
)
# "Right?" after a sentence asks whether it is so.
# Words of others without quotation marks: what follows is not said but cited.
CITED = r".*\b(?:says?|said|saying|wrote|writes|reads|prints?|shows|like|such as) (.+)"
# Where a person begins anew without a comma.
RUN_ON = (
    r"(?<!\bi)(?<!\bwe) (?=(?:let's|have to|gtg|ttyl|see you|bye|talk|good ?night|gn|cya"
    r"|back in|back later|i'll be back|i have to|i need to|time (?:for|to)|save (?:this|our))\b)"
)
TAG = (
    r"(?:right|correct|no|yes|true|or|or not|or what|isn't it|aren't we|oder|nicht wahr|verdad|non)"
)

_VERB = join(
    *sorted(OPENING_VERBS),
    r"analy[sz]e|call|complete|continue|cut|figure out|get"
    r"|go (?:on|ahead|through|over|back|with)|make|name|optimi[sz]e|order|pass|pick|ping"
    r"|proceed|return|set|start|step back|take|talk me|think|turn|wait|walk|watch|work on"
    r"|carry on|keep (?:going|on|working|trying|at it)|move on|regroup on|next",
)
REQUEST = join(
    rf"{_VERB}\b.*",
    r"(?:now|next|then|first|also) (?:for |to )?(?:the|a|an|some|my|our|with|about)\b.*",
    rf".*\b(?:please|pls|now|then|also|next|first|instead|just) {_VERB}\b.*",
    rf".*\b(?:can|could|would|will) you (?!{_WRAP_UP}).*",
    rf".*\b(?:want|need|like|expect) you to (?!{_WRAP_UP}).*",
    r"(?:let'?s|let us|don't|do not|never|always|continue|proceed|resume|stop|pause)\b.*",
)
DUTY = join(
    rf".*\bto {_VERB}\b.*",
    r".*(?<!\bi )\b(?:should|must|shall|needs? to|ha(?:s|ve) to|ought to)\b.*",
)
CONDITION = join(
    r"\b(?:if|unless|when|whenever|once|until|till|while|otherwise|as soon as|in case|as long as"
    r"|provided|after|assuming)\b",
    r"^before\b|\b(?:wenn|falls|sobald|solange|nachdem|bevor|cuando|quand|dès que|lorsque|si"
    r"|tan pronto)\b",
    r"如果|要是|假如|的话|万一|もし|たら|なら|場合|れば",
)
# A plan for another day is not a duty of now.
PLAN = rf"(?:.*\b)?(?:{_TIME}|{_DE_LATER}|{_ES_LATER}|{_FR_LATER})\b.*|(?:明天|明日).*"
STATEMENT = join(
    r".*\b(?:me|us)",
    r"(?:some(?:thing|one|body)|i|we|you|it|he|she|they)(?:'\w+)?\b.*",
    r"(?:that|that's|this|these|those|the|there|there's|my|our|your|everything|all|nothing|most"
    r"|some|both|what a|not|no|half|lots|plenty)\b.*",
    r".*\b(?:is|are|was|were|has|have|had|works?|worked|looks?|pass|passes|passed|did|does|seems?"
    r"|went|got|done|fixed|green|broken)\b.*",
    r"(?:ich|wir|es|das|mein|meine|der|die) .*"
    r"|(?:estoy|ya no|es|ya es|ha sido|tengo|mi|el|la|fue) .*"
    r"|(?:je|j'ai|c'est|c'était|il|mon|ma|la|le) .*|(?:我|时间|不早|太|有点|已经|都|有些)[^把]*"
    r"|(?:もう|私|時間|疲れ|眠|だいぶ|かなり).*",
)

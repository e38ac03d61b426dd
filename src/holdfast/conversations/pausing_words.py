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


# --- English: parts of a clause -------------------------------------------------------------------

_WEEKDAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_DAY = join(
    r"today|tonight|the (?:day|night|evening|afternoon|morning|week|weekend|session)",
    r"this (?:evening|afternoon|morning|week|session)",
)
_SHORT = r"(?:now|the moment|the time being|a while|a bit|lunch|dinner|breakfast)"
_TIME = join(
    r"tomorrow(?: (?:morning|afternoon|evening|night))?|tmrw|tmr|2moro",
    r"(?:a bit |a little )?later(?: (?:today|tonight|on|this week))?|some ?time (?:later|tomorrow)",
    r"(?:another|some other) (?:day|time)|next (?:week|time|month|year|session|sprint)",
    rf"(?:on |next |this )?{_WEEKDAY}(?: (?:morning|afternoon|evening|night))?",
    r"(?:first thing )?in the (?:morning|afternoon|evening)|tonight|this (?:evening|afternoon)",
    r"in (?:a|an|one|two|three|a few|a couple of|\d+) (?:hours?|days?|weeks?)",
    r"after (?:lunch|dinner|breakfast|work|(?:the|my|a) (?:\w+ )?(?:weekend|meeting|break|call"
    r"|holidays?|vacation|nap))",
    r"(?:when|once) (?:i'm|i am|i get|i come|we're|we are|we get) back(?: home)?",
)
# Each part is recognised once and stands as a mark in the clause: a pattern that repeats them takes
# longer to compile than an agent can be kept waiting.
MARKS = (
    ("UNTIL", rf"(?:until|till|'?til) {_TIME}(?!\w)"),
    ("FORDAY", rf"\bfor {_DAY}(?!\w)"),
    ("FORNOW", rf"\bfor {_SHORT}(?!\w)"),
    ("LATER", rf"\b{_TIME}(?!\w)"),
)
FOR_DAY, FOR_NOW, LATER, _UNTIL = "FORDAY", "(?:FORDAY|FORNOW)", "LATER", "UNTIL"
_PLACE = join("(?:right )?here", "there", "at this point", "(?:right )?now", FOR_NOW, _UNTIL)
_TALK = r"(?:conversation|session|chat|discussion|thread)"
LEAD = join(
    r"ok|okay|k|kk|alright|all right|right|well|so|anyways?|hey|hi|hmm+|uh+|um+|oh|ah|ugh|wow"
    r"|yeah|yes",
    r"yep|great|cool|perfect|nice|good|thanks|thank you|thx|sorry|actually|honestly|unfortunately",
    r"sadly|please|pls|plz|now|then|just|btw|fyi|guess|maybe|perhaps|probably|finally|and|but|lol",
    r"i(?:'d)? (?:think|guess|believe|suppose|feel like|say)|i'm afraid|i am afraid|looks like"
    r"|guys",
    r"folks|everyone|team|man|dude|mate|for me|on my side|from my side|also|really",
)
_TAIL = join(
    r"then|now|please|pls|plz|thanks|thank you|thx|ty|ok|okay|guys|folks|everyone|all|mate|man"
    r"|dude",
    r"buddy|sorry|though|tho|anyway|i think|i guess|actually|unfortunately|again|lol|haha|friend"
    r"|team",
)
_TAILS = repeat(_TAIL)
_I = r"(?:i|we)(?:'ve|'d|'m|'ll| am| have| had| will)?"
_SURELY = r"(?:(?:really|sadly|unfortunately|probably|just|do|kinda|now|also|actually) )*"
_ASKING = join(
    r"(?:can|could|may) (?:we|i)(?: please)?",
    r"(?:do you |would you )?mind if (?:we|i)",
    r"(?:is it|would it be) (?:ok|okay|fine|all right|alright) (?:if|when) (?:we|i)",
    r"(?:how|what) about (?:we|if we)|why don't we",
)
WE = join(
    r"let'?s(?: just)?|let us|let me|time to|(?:it's|it is|its) (?:about )?time to",
    r"(?:it's |it is )?time for (?:me|us) to|(?:i (?:suggest|propose|say|vote)) (?:that )?(?:we"
    r"|to)",
    rf"{_I} {_SURELY}(?:need to|have to|got to|gotta|must|should|could|can|better|would|may"
    rf"|want to|wanna|like to|rather|going to|gonna|might as well|may as well)(?: probably"
    rf"| really| just)?",
    r"i'll|we'll|i will|we will|i'd|gotta|gonna|need to|have to",
    *(_ASKING, "we"),
)
_WE = "WE"
_MUST = join(
    rf"(?:{_I} )?{_SURELY}(?:need to|have to|got to|gotta|must|should|better|ought to|going to"
    rf"|gonna|about to|hafta|will have to)(?: really| now| probably| get)?",
    r"(?:it's |it is )?(?:about )?time (?:for me |for us )?to",
)
_AWAY = r"(?:bed|sleep|work|lunch|dinner|school|class|home)"
_EVENT = (
    r"(?:a|an|my|the|another) (?:\w+ )?(?:meeting|call|appointment|doctor|dentist|airport|station"
    r"|gym|office|party|class|lesson|lecture|interview|standup|stand-up|train|bus|flight|plane)"
)
_PEOPLE = r"(?:my|the|our) (?:kids?|daughter|son|children|boys?|girls?|wife|husband|partner|dog)"

# --- English: whole clauses -----------------------------------------------------------------------

_STOPPING = join(
    rf"{_WE} (?:stop|pause|end|quit|halt|finish|break off|leave off|wrap up|close|suspend"
    rf"|stop working|stop work)(?: (?:(?:this|our) {_TALK}|things))?(?: {_PLACE})+",
    rf"let's (?:end|close|finish|wrap up) the {_TALK}(?: {_PLACE})+",
    rf"{_WE} (?:break|(?:stop|pause) the {_TALK}) (?:here )?(?:{FOR_NOW}|{_UNTIL})",
    rf"{_WE} (?:end|leave|close|wrap) (?:it|this|things)(?: up)?(?: {_PLACE})+",
    rf"{_WE} (?:stop|pause|end|close|finish) (?:this|our) {_TALK}",
    rf"{_WE} (?:pause|park|stop) this (?:here )?(?:{FOR_DAY}|{_UNTIL})",
    rf"(?:stop|pause|finish|quit|end|break|leave|park|wrap)(?: (?:it|this|things))?(?: up)?"
    rf"(?: here| there| now)? (?:{FOR_DAY}|{_UNTIL})",
    rf"(?:{_WE} )?(?:just )?call it (?:a day|a night|an evening|quits|a wrap|here|{FOR_DAY})"
    rf"(?: {_PLACE})*",
)
_ENOUGH = join(
    r"(?:(?:that's|thats|that is|that was|that'll be|that will be|this is|this was|it's|its)"
    r"(?: me| us)? )?(?:about |quite |more than |really |all |well )*"
    rf"(?:enough|all|it|plenty|a wrap|everything|done|finished)(?: i have| from me| work| coding"
    rf"| progress| fun)? {FOR_DAY}",
    rf"(?:i'm|i am|im|we're|we are) (?:all )?(?:done|finished|through) (?:here|{FOR_NOW})",
    rf"(?:i'm |i am |im |we're |we are )?calling it (?:a day|a night|quits|here|{FOR_DAY})"
    rf"(?: {FOR_DAY})?",
)
_GOING = join(
    rf"{_MUST} (?:go|run|leave|dash|jet|bounce|scoot|head (?:out|off|home|back)|get going"
    rf"|be going|be off|take off|log off|sign off|clock out|pack up|sleep|eat|step (?:away|out)"
    rf"|hop off|go (?:home|offline|afk|out|to {_AWAY}|to {_EVENT}|into {_EVENT}|eat|cook)|going"
    rf"|off|(?:get|head|be off|drive) to {_AWAY}|(?:catch|hop on|join|get to|head to|attend"
    rf"|make) {_EVENT}|pick up {_PEOPLE}|pick {_PEOPLE} up|some (?:sleep|rest|food)"
    rf"|get some (?:sleep|rest|food)|get home|home|get out of here|cook(?: dinner)?|make dinner"
    rf"|cook for the kids)"
    rf"(?: (?:now|soon|shortly|already|asap|early|today|for {_EVENT}|for work|{FOR_NOW}|in (?:a"
    rf"|\d+|five|ten) min(?:ute)?s?))*",
    r"(?:(?:i'm|i am|im|we're|we are) (?:now |just |almost |about |already )?)(?:off|out"
    r"|outta here|out of here|leaving|to leave|packing up|turning in|away|stopping|pausing"
    r"|taking off|afk|"
    rf"stopping here|pausing here|going to bed|off to {_EVENT})"
    rf"(?: (?:now|then|soon|here|{FOR_NOW}))*",
    rf"(?:(?:i'm|i am|im|we're|we are) )?(?:now |just )?(?:leaving now|heading (?:out|off|home"
    rf"|to bed)|going (?:home|offline|afk|to bed|to sleep|to lunch)|signing off|logging off"
    rf"|clocking (?:off|out)|knocking off|hitting the (?:sack|hay)|off to {_AWAY}|stepping away"
    rf"|taking a break)"
    rf"(?: (?:now|then|soon|here|{FOR_NOW}))*",
    r"(?:it's |it is )?(?:time for (?:bed|sleep|a break|lunch|dinner)|bedtime|bed time|break time)",
)
_RESUME = (
    r"(?:continue|resume|carry on|go on|keep going|proceed|reconvene|regroup|talk|speak|chat|meet"
    r"|pick (?:(?:this|it|things|that) )?(?:back )?up|(?:get|come) back(?: (?:to|at) (?:this"
    r"|it))?|be back|return(?: to (?:this|it))?)"
    rf"(?: (?:this|it|here|again|working|then|more|from (?:here|there)|with (?:this|it|the rest)"
    rf"|where we (?:left off|stopped|are)|(?:our|this|the) {_TALK}|the rest|to you))*"
)
_RESUMING = join(
    rf"(?:{_WE} )?{_RESUME} {LATER}",
    rf"{LATER} (?:i|{_WE}) {_RESUME}",
    rf"(?:i'll |i will |will )?be back {LATER}|back {LATER}",
    rf"{_WE} (?:finish|do|tackle|handle|look at|work on) (?:the rest|the remaining \w+"
    rf"|the remainder|everything else|what's left) {LATER}",
    rf"{_WE} (?:finish|continue|wrap up) (?:this|it|that)(?: up)? {LATER}",
    rf"(?:{_WE} )?(?:leave|keep|save|do) (?:the rest|everything else|the remainder|what's left)"
    rf" (?:(?:for )?{LATER}|{_UNTIL})",
    r"(?:the rest|everything else|the remainder) (?:can|will|has to|will have to) wait"
    rf" (?:(?:for )?{LATER}|{_UNTIL})",
    rf"(?:the rest|more) {LATER}|to be continued(?: {LATER})?",
)
_BREAKING = join(
    rf"{_WE} (?:take|have|make|grab) (?:a|my|our) (?:short |quick |little |long |lunch "
    rf"|coffee )*break"
    rf"(?: (?:{_PLACE}|then))*",
    rf"i (?:really )?(?:need|want|could use) a (?:short |quick |long )?break(?: {_PLACE})*",
    rf"(?:{_WE} )?save (?:this|our) (?:{_TALK}|progress|work)(?: (?:{_PLACE}|for {LATER}))*",
)
_PARTING = join(
    rf"(?:see (?:you|ya|u)|cu|c u|catch (?:you|ya)|talk(?: to (?:you|ya|u))?|speak)"
    rf" (?:again )?{LATER}|{_UNTIL}|(?:see|catch) (?:you|ya) (?:then|soon)",
    r"good ?night|gn8?|g'night|night night|nighty night|sleep well|ttyl|gtg|g2g|gotta bounce",
)

# --- other languages ------------------------------------------------------------------------------

_DE_LATER = r"(?:morgen(?: früh)?|später|nächste woche|(?:am )?montag|ein andermal|nächstes mal)"
_DE_TODAY = r"(?:(?:für|fuer) (?:heute|jetzt|den moment)|hier|jetzt|an dieser stelle)"
_GERMAN = join(
    rf"(?:lass|lasst) uns(?: {_DE_TODAY})+ (?:aufhören|schluss machen|pausieren|stoppen"
    rf"|unterbrechen|eine pause machen)",
    rf"(?:machen wir|wir machen|ich mache?)(?: mal)?(?: {_DE_TODAY})* (?:schluss|feierabend"
    rf"|eine pause)"
    rf"(?: {_DE_TODAY})*",
    rf"(?:hören wir|ich höre?)(?: {_DE_TODAY})+ auf|(?:schluss|genug|feierabend) für heute"
    rf"|feierabend",
    r"(?:das )?(?:reicht(?:'s|s)?|war'?s|war es|ist genug|genügt|war alles)(?: dann)? für heute",
    r"für heute (?:reicht es|reicht's|ist schluss|war's das|bin ich fertig|mache ich schluss)",
    r"ich muss(?: (?:jetzt|leider|gleich|langsam|dann|mal|nun|schon|auch))* (?:los|weg|gehen"
    r"|ins bett|nach hause|aufhören|schluss machen|schlafen|zum zug|zum bus|offline gehen"
    r"|in ein meeting)",
    rf"(?:lass uns|wir wollen|wir können|ich will)?(?: ?(?:das"
    rf"|hier))* ?{_DE_LATER} (?:weitermachen|fortsetzen|weiterreden)",
    rf"(?:machen wir|wir machen|ich mache?|weiter geht es|weiter geht's|es geht)(?: (?:hier|dann))*"
    rf" {_DE_LATER}(?: weiter)?(?<=weiter)|{_DE_LATER} (?:machen wir|mache ich|geht es"
    rf"|geht's) weiter",
    rf"(?:dann )?{_DE_LATER} weiter|weiter {_DE_LATER}|der rest (?:kann|hat zeit) bis {_DE_LATER}"
    r"(?: warten)?",
    rf"bis (?:{_DE_LATER}|dann|bald)|gute nacht|schönen feierabend|ich bin dann (?:mal )?weg",
)
_ES_LATER = (
    r"(?:mañana|luego|más tarde|el lunes|otro día|la próxima semana|la semana que viene|después)"
)
_ES_TODAY = r"(?:por (?:hoy|ahora|esta noche)|aquí|ya|ahora)"
_SPANISH = join(
    rf"(?:paremos|dejémoslo|lo dejamos|dejamos|pausemos|terminemos|terminamos|acabamos|paramos"
    rf"|vamos a (?:parar|dejarlo|terminar))(?: {_ES_TODAY})+",
    r"(?:ya |eso |con esto |esto )*(?:es |está )?(?:suficiente|todo|bastante|bien|basta) por hoy",
    r"por hoy (?:ya )?(?:es suficiente|está bien|basta|hemos terminado|es todo|lo dejo|lo dejamos)",
    rf"(?:me )?(?:tengo que|debo|necesito)(?: {_ES_TODAY})* (?:ir|irme|marcharme|salir|dormir"
    rf"|irme a (?:dormir|casa))(?: {_ES_TODAY})*(?<!tengo que ir)(?<!debo ir)|me tengo que ir"
    rf"(?: {_ES_TODAY})*",
    r"(?:ya )?me voy(?: (?:ya|ahora|a dormir|a casa|a la cama))*",
    rf"(?:lo )?(?:continuamos|seguimos|sigamos|continuemos|retomamos|retomemos)(?:lo)? {_ES_LATER}",
    rf"{_ES_LATER} (?:lo )?(?:seguimos|continuamos|retomamos)|el resto {_ES_LATER}",
    rf"(?:hasta|nos vemos) (?:{_ES_LATER}|pronto|la próxima)|buenas noches",
    rf"(?:hagamos|hacemos|tomemos) una pausa(?: {_ES_TODAY})*",
)
_FR_LATER = r"(?:demain(?: matin)?|plus tard|lundi|la semaine prochaine|la prochaine fois|ce soir)"
_FR_TODAY = r"(?:pour (?:aujourd'hui|ce soir|le moment|l'instant|cette semaine)|là|ici)"
_FRENCH = join(
    rf"(?:on (?:va )?s'arrête(?:r)?|arrêtons[- ]nous|arrêtons|je m'arrête|je vais m'arrêter"
    rf"|j'arrête|on arrête|restons-en|on en reste)(?: {_FR_TODAY})+",
    r"(?:(?:c'est|ça ira|ce sera|ça sera|ça|voilà|c'est bon|voilà c'est) )?(?:assez|tout|fini"
    r"|suffit|terminé|bon|ça ira) pour (?:aujourd'hui|ce soir|cette semaine)"
    r"|ça ira pour aujourd'hui",
    rf"je (?:dois|vais devoir)(?: (?:maintenant|malheureusement|vraiment))* (?:y aller|partir"
    rf"|filer|me sauver|vous laisser|te laisser|aller (?:dormir|au lit|me coucher)"
    rf"|m'arrêter(?: {_FR_TODAY})+)"
    r"(?: maintenant)?",
    r"il faut que (?:j'y aille|je parte|je file|je m'arrête(?: là| ici)?)(?: maintenant)?|je file"
    r"|je me sauve|je vais (?:me coucher|au lit|dormir)",
    rf"(?:on|nous)? ?(?:continue|continuera|continuons|reprend|reprendra|reprenons|finira|finit)"
    rf"(?: (?:ça|cela|tout ça|le reste))? {_FR_LATER}|(?:la suite|le reste) {_FR_LATER}",
    rf"{_FR_LATER} on (?:continue|reprend)|à (?:demain|plus tard|lundi|bientôt|la prochaine)",
    rf"bonne nuit|(?:faisons|on fait) une pause(?: {_FR_TODAY})*",
)
_CHINESE = join(
    r"(?:那|好|好了|好的|嗯|行|我们|咱们|先|就)*今天(?:我们|咱们)?(?:就|先)*(?:到|做到|聊到|弄到"
    r"|停在)"
    r"(?:这里|这儿|这|此|此为止)(?:吧|了|为止|啦)*",
    r"(?:那|好|我们|咱们|就)*(?:到此为止|先这样|先到这里?|先到这儿|告一段落|先停在这里?)(?:吧|了"
    r"|啦)*",
    r"(?:那|好|好了|我)*(?:我)?(?:要|得|该|先|必须|现在)+(?:走|撤|下班|下线|睡觉|睡|休息|吃饭"
    r"|回家|去吃饭|去开会|去睡觉|去睡|闪人|离开)(?:了|啦|一下)*",
    r"(?:那|我们|咱们|剩下的|其余的)*(?:明天|下次|改天|回头|晚点|明早|下周|周一)(?:我们|咱们)?"
    r"(?:再|接着|继续)+(?:继续|接着|聊|说|弄|做|来|搞)*(?:吧|了)?",
    r"(?:我们|咱们)?(?:先)?(?:休息一下|收工|下班|歇会儿|休息)(?:吧|了|啦)+|收工",
    r"晚安|明天见|回头见|下次见|(?:今天)?(?:就)?(?:够了|够啦)?今天够了",
)
_JA_POLITE = r"(?:ね|よ|か|な|。)*"
_JAPANESE = join(
    r"(?:では|じゃあ?|それでは|とりあえず|一旦|いったん)*(?:今日|本日|今夜|今回)(?:は"
    r"|の作業は)(?:もう)?"
    rf"(?:ここまで|これで終わり|終わり|おしまい|これくらい|このへん|この辺)(?:に(?:しよう"
    rf"|しましょう|します|しておきます|しておこう|しとく|する)|で(?:終わり|お願いします)?|です"
    rf"|だ)?{_JA_POLITE}",
    r"(?:そろそろ|もう|では|じゃあ?|すみません|ごめん)*(?:行かないと|行かなきゃ|行かなくちゃ"
    r"|帰らないと|帰ります|帰る|寝ます|寝る|寝ないと|失礼します|出ないと|出かけます|落ちます"
    r"|上がります|退勤します)"
    rf"{_JA_POLITE}",
    rf"(?:では|じゃあ?)?(?:続き|残り)は(?:また)?(?:明日|後で|後ほど|来週|今度|次回)(?:に|で"
    rf"|やります|お願いします|しましょう|しよう|します)*{_JA_POLITE}",
    rf"(?:では|じゃあ?|それでは)?(?:また(?:明日|来週|今度|後で|あとで)|明日また)(?:続けます"
    rf"|続けましょう|続けよう|お願いします|やります|やりましょう)?{_JA_POLITE}",
    r"(?:明日|後で|来週)(?:また)?(?:続けます|続けましょう|続けよう|再開します|再開しましょう|続きを"
    rf"(?:やります|やりましょう|やろう|します|しましょう)){_JA_POLITE}",
    rf"(?:ちょっと|少し|一旦|いったん|ここで|そろそろ)+(?:休憩(?:します|しましょう|しよう|する)?"
    rf"|中断します|中断しましょう|区切ります|区切りましょう|終わりにします"
    rf"|終わりにしましょう){_JA_POLITE}",
    r"おやすみ(?:なさい)?|お先に失礼します|さようなら",
)

STRONG = join(*(_STOPPING, _ENOUGH, _GOING, _RESUMING, _BREAKING, _PARTING)) + _TAILS
EUROPEAN = join(
    rf"(?:(?:gut|also|danke|leider) )*{_GERMAN}(?: (?:danke|bitte))*",
    rf"(?:(?:bueno|vale|bien|gracias|perdón|pues) )*{_SPANISH}(?: (?:gracias|por favor))*",
    rf"(?:(?:bon|bien|alors|merci|désolée?) )*{_FRENCH}(?: (?:merci|stp|svp))*",
)
EAST_ASIAN = join(_CHINESE, _JAPANESE)

# A request in the form of a question; any other question asks for an opinion.
ASKED = rf"{_ASKING} .*"

# Signals only where nothing else is said but courtesies and how tired one is.
WEAK = (
    join(
        rf"{_WE} (?:stop|pause|wrap up|wrap (?:it|this|things) up|quit|finish up|leave it (?:here"
        rf"|there))",
        r"(?:that's|thats|that is|that'll be|this is) (?:about |quite |really )*(?:enough|all|it"
        r"|plenty)"
        r"(?: from me)?(?: FORNOW)?|(?:that'll|that will) do(?: FORNOW)?|(?:enough|done) FORNOW"
        r"|enough",
        rf"{_WE} wrap (?:it|this|things) up(?: now| here)?|(?:we're|we are) done",
        r"(?:good ?)?bye(?: bye)?(?: FORNOW)?|bye-bye|see (?:you|ya)|cya|laters|take care"
        r"|peace out",
        r"have a (?:good|nice|great|lovely) (?:day|evening|night|weekend|one|rest of (?:the"
        r"|your) day)",
        r"over and out|tschüss|tschüs|ciao|auf wiedersehen|adiós|adios|chao|au revoir|bonne soirée",
        r"再见|拜拜|お疲れ様でした|お疲れさまでした|失礼します|(?:eso|esto) es todo|c'est tout"
        r"|ça suffit|das war's|das reicht|das wars|够了",
    )
    + _TAILS
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
    r"(?:i'm|i am|im|we're|we are)(?: \w+){0,3} (?:tired|exhausted|beat|hungry|sleepy|late"
    r"|spent|fried|out of time|knackered|wiped|sick|starving)\b.*",
    rf"(?:it's|it is|its)(?: \w+){{0,3}} (?:late|midnight|{_WEEKDAY}|night|(?:\d{{1,2}}(?::\d\d)? ?"
    r"(?:am|pm)?|past \w+)|weekend|lunchtime|dinner time)\b.*",
    r"(?:my|the|our) (?:train|bus|flight|plane|ride|taxi|uber|kids?|daughter|son|wife|husband"
    r"|partner|boss|battery|eyes?|head|brain|lunch|dinner|shift|(?:next )?meeting|day|alarm|baby"
    r"|dog|family|guests|dentist|doctor|parents|boyfriend|girlfriend)\b.*",
    r"(?:it's |it was |that was |what )?(?:been )?a (?:long|hard|good|productive|great) (?:day"
    r"|night|week|session).*|long day.*|dinner(?:'s| is) ready|no rush.*",
)
# "Right?" after a sentence asks whether it is so.
TAG = (
    r"(?:right|correct|no|yes|true|or|or not|or what|isn't it|aren't we|oder|nicht wahr|verdad|non)"
)

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
    r"(?:i|we|you|it|he|she|they)(?:'\w+)?\b.*",
    r"(?:that|that's|this|these|those|the|there|there's|my|our|your|everything|all|nothing|most"
    r"|some|both|what a|not|no|half|lots|plenty)\b.*",
    r".*\b(?:is|are|was|were|has|have|had|works?|worked|looks?|pass|passes|passed|did|does|seems?"
    r"|went|got|done|fixed|green|broken)\b.*",
    r"(?:ich|wir|es|das|mein|meine|der|die) .*|(?:estoy|es|ya es|ha sido|tengo|mi|el|la|fue) .*"
    r"|(?:je|j'ai|c'est|c'était|il|mon|ma|la|le) .*|(?:我|时间|太|有点|已经|都|有些)[^把]*"
    r"|(?:もう|私|時間|疲れ|眠|だいぶ|かなり).*",
)

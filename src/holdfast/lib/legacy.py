# ruff: noqa: RUF001, SIM905 - letters of many scripts are what this is about
"""Which encoding text has that is not UTF-8: strong evidence where a script gives it, and otherwise a guess, named so.

Multi-byte and Cyrillic encodings are told by what they decode to: the characters and pairs of letters that such text
is made of. Western single-byte text cannot be told from its many relatives; it is sure only where its letters are
those of one language, and there are enough of them.
"""

from __future__ import annotations

import codecs
import re
from typing import Final

__all__ = ["guess"]

_SAMPLE_BYTES: Final = 32 * 1024
_COMMON: Final = {
    "gb18030": (
        "的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于着下自之年过发后作里用道行所然家种事成"
        "方多经么去法学如都同现当没动面起看定天分还进好小部其些主样理心她本前开但因只从想实日者意无力它与长把机十民第公此已工使"
        "情明性知全三又关点正业外将两高间由问很最重并物手应向头文体美相见被利什二等产或新己制身果加西月话合回特代内信表化老给世"
        "位次度门任常先海通教原东声提立及比员解水名真论处走各入几口认条平系气题活更别打变总何电数安少报才结反受目太量再建务做接"
        "必场件计管期市直资命山金指许统区保至形社便空决展科五基书非则听白界达光放强即像难且权完设式色路记品住告类求据程北边该交"
        "规万取格望术领共确传清今切让识带导争运码编测试例请您世界谢字符简单希够功测,。、;:?!“”()"
    ),
    "big5": (
        "的一是不了在人有我他這個們中來上大為和國地到以說時要就出會可也你對生能而子那得於著下自之年過發後作裡用道行所然家種事成"
        "方多經麼去法學如都同現當沒動面起看定天分還進好小部其些主樣理心她本前開但因只從想實日者意無力它與長把機十民第公此已工使"
        "情明性知全三又關點正業外將兩高間由問很最重並物手應向頭文體美相見被利什二等產或新己制身果加西月話合回特代內信表化老給世"
        "位次度門任常先海通教原東聲提立及比員解水名真論處走各入幾口認條平系氣題活更別打變總何電數安少報才結反受目太量再建務做接"
        "界請您謝碼編測試例字簡單希夠功,。、;:?!「」()"
    ),
    "shift_jis": "日本語人大年一国会中出時行事見月分生上東間同自社者前後私今何言思文字書入手用名方新学高小話長力金"
    "気物下定部動来的数処理表示設変更関数値開始終了確認情報場合次最全々。、「」・ー!?()",
    "euc_kr": (
        "이다는을에의가고하지로한도기나사은있그리어자서대인해수정아들부시전일구제여보상주것를과만안우원조라장성면오소게스으비동"
        "공유경국미니녕세요계문말한글테트입습까음더적없"
    ),
}
_COMMON["euc_jp"] = _COMMON["shift_jis"]
_CYRILLIC: Final = ("cp1251", "koi8-r", "cp866", "iso8859-5")
_CYRILLIC_PAIRS: Final = frozenset(
    "ст но то на ен ов ни ра во ко ос пр ре по го ро ть ан ор ер ал ли не ет ла ин ти ел та ка от ле ва ол да ат ит де "
    "ом ве ри ны ск ло ес те мо ем ил сл до ть ль ас же ми ам ся им об ая ие ий ог из ви ме ив рв ед ми ир ся та ик чт "
    "мы вы ты он за бы эт ту ру тр ки ди си ша ще ча че чи ых ой ым ый ыл ак аз ад ем ме ям мя од од дн ду ус уд ук му "
    "св вс ис пе пи па пу бо бе ба бу сн сь сё ещ шь ши уг юж яг гк их ия зы яз ык фа йл ле ша си уб бе ун ия єт ві ін "
    "ії пр на ні ий сі ти ть иї ук ра аї їн".split()
)
_RUN: Final = re.compile(r"[^\W\d_]+")
_PROFILES: Final = tuple(
    frozenset(letters + letters.upper())
    for letters in ("äöüßé", "àâæçéèêëîïôùûüÿœ", "áéíñóúü", "áâãàçéêíóôõú", "àèéìíîòóùú", "åäöæøéü", "áèéëêïíóöüú")
)
_MARKS: Final = frozenset("«»“”‘’„‚–—…€£§°©®·¿¡\u00a0ªº²³½¼×µ™•")
_OTHER_SCRIPTS: Final = frozenset(
    "cp1253 iso8859-7 cp1255 iso8859-8 cp1256 iso8859-6 cp874 tis-620 cp1251 koi8-r koi8-u cp866 iso8859-5".split()
)
_WIDER: Final = {"shift_jis": "cp932", "euc_kr": "cp949"}
_DENSE_BYTES: Final = 32
_LETTERS_FOR_SURE: Final = 6
_WIDE_FOR_SURE: Final = 0.35
_PAIRS_FOR_SURE: Final = 0.4


def guess(data: bytes) -> tuple[str, bool] | None:
    """Tell the codec of a sample that is not UTF-8, and whether that is sure; None when it hardly is text."""
    start = max(0, _first_high(data) - _SAMPLE_BYTES // 2)
    sample = data[start : start + _SAMPLE_BYTES]
    codec = _multi_byte(sample, is_cut=start > 0) or _cyrillic(sample)
    if codec is not None:
        return codec, True
    high = bytes(byte for byte in sample if byte >= 0x80)
    shown = high.decode("cp1252", "replace")
    if len(high) * 3 > len(sample):  # another script, or no text at all
        other = _by_statistics(sample)
        is_odd = len(high) >= _DENSE_BYTES and sum(char.isalpha() or char in _MARKS for char in shown) < 0.9 * len(
            shown
        )
        if other in _OTHER_SCRIPTS or is_odd:
            return None if other is None else (other, False)
    western = "iso8859-1" if "\ufffd" in shown else "cp1252"
    return western, _is_western(sample.decode(western, "replace"), shown)


def _by_statistics(sample: bytes) -> str | None:
    import charset_normalizer  # noqa: PLC0415  # costs 20 ms, and few files get here

    best = charset_normalizer.from_bytes(sample).best()
    return None if best is None else codecs.lookup(best.encoding).name


def _first_high(data: bytes) -> int:
    return next((position for position, byte in enumerate(data) if byte >= 0x80), 0)


def _multi_byte(sample: bytes, *, is_cut: bool) -> str | None:
    """Tell a multi-byte encoding by the share of common characters among those that it decodes to."""
    best, second = ("", 0.0), 0.0
    for name, common in _COMMON.items():
        codec, text = name, _decoded(sample, name, is_cut=is_cut)
        if text is None and name in _WIDER:
            codec = _WIDER[name]
            text = _decoded(sample, codec, is_cut=is_cut)
        if text is None:
            continue
        wide = [char for char in text if char > "\x7f"]
        score = sum(char in common or _is_kana(char, codec) for char in wide) / max(1, len(wide))
        if len(wide) < 2 or any("\uff61" <= char <= "\uff9f" for char in wide):  # half-width kana: any byte is one
            continue
        if score > best[1]:
            best, second = (codec, score), best[1]
        else:
            second = max(second, score)
    return best[0] if best[1] >= _WIDE_FOR_SURE and best[1] > 1.5 * second else None


def _is_kana(char: str, codec: str) -> bool:
    return codec in ("shift_jis", "cp932", "euc_jp") and "\u3041" <= char <= "\u30ff"


def _decoded(sample: bytes, codec: str, *, is_cut: bool) -> str | None:
    """Decode a sample whose first and last character may be cut; None when it is not in this encoding."""
    for skipped in (0, 1) if is_cut else (0,):
        try:
            text = sample[skipped:].decode(codec)
        except UnicodeDecodeError as error:
            if len(sample) - skipped - error.start > 4:
                continue
            text = sample[skipped : skipped + error.start].decode(codec)
        return text
    return None


def _cyrillic(sample: bytes) -> str | None:
    """Tell a Cyrillic encoding by whole words of Cyrillic letters, and by how common their pairs are."""
    scores = sorted(((_cyrillic_score(sample.decode(codec, "replace")), codec) for codec in _CYRILLIC), reverse=True)
    (best, codec), (second, _) = scores[:2]
    return codec if best >= _PAIRS_FOR_SURE and best > 1.3 * second else None


def _cyrillic_score(text: str) -> float:
    words = [run for run in _RUN.findall(text) if any(char > "\x7f" for char in run)]
    own = [run for run in words if all("\u0400" <= char <= "\u04ff" for char in run)]
    strange = sum(char > "\x7f" and not char.isalpha() and char not in "«»„“”–—…№\u00a0" for char in text)
    letters = sum(map(len, own))
    if letters < 4 or strange * 5 > letters or len(own) < 0.8 * len(words):
        return 0.0
    pairs = [word[at : at + 2] for word in own for at in range(len(word) - 1)]
    common = sum(pair.lower() in _CYRILLIC_PAIRS and not (pair[0].islower() and pair[1].isupper()) for pair in pairs)
    return common / max(1, len(pairs))


def _is_western(text: str, high: str) -> bool:
    """Whether the letters are those of one language, inside words, and many enough to be no accident."""
    letters = {char for char in high if char not in _MARKS}
    if sum(char not in _MARKS for char in high) < _LETTERS_FOR_SURE or len(letters) < 2:
        return False
    if not any(letters <= profile for profile in _PROFILES):
        return False
    words = [run for run in _RUN.findall(text) if not run.isascii()]
    return sum(any(char.isascii() for char in word) for word in words) >= 0.75 * len(words)

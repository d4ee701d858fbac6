/** Texts of one class, the same in every run: `draw(n)` gives a text of about n characters, each call another one. */
export interface Corpus {
  readonly name: string;
  draw(length: number): string;
}

/** A small generator of numbers, so that no two texts are alike and every run sees the same ones. */
function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

function corpus(name: string, seed: number, sentence: (next: (below: number) => number) => string): Corpus {
  const next = numbers(seed);
  return {
    name,
    draw(length) {
      let text = "";
      while (text.length < length) text += sentence(next);
      return text;
    },
  };
}

const WORDS =
  `the a of and to in is that it was for on are as with they at be this from have by one had not but what all were
when we there can an your which their said if do will each about how up out them then she many some so these would other into has
more her two like him see time could no make than first been its who now people my made over did down only way find use may water
long little very after words called just where most know conversation history model answer budget window summary provider request
weather station measured temperature yesterday customers ordered invoices shipped however although`.split(/\s+/);

const CODE = [
  "export function totalOf(items: readonly Item[]): number {\n  return items.reduce((sum, item) => sum + item.price, 0);\n}\n\n",
  'if (response.status !== 200) {\n  throw new Error("Request failed: " + response.statusText);\n}\n',
  "for (let index = 0; index < rows.length; index++) {\n    const row = rows[index];\n    if (row === undefined) continue;\n}\n",
  "def fetch_user(session, user_id):\n    query = select(User).where(User.id == user_id)\n    return session.execute(query).scalar_one()\n\n",
  "SELECT thread_id, count(*) AS entries FROM entries WHERE kind = 'message' GROUP BY thread_id ORDER BY entries DESC;\n",
  'impl Display for Point {\n    fn fmt(&self, f: &mut Formatter) -> fmt::Result {\n        write!(f, "({}, {})", self.x, self.y)\n    }\n}\n',
];

const CJK = [
  "我们需要在下周之前完成这个项目的设计文档。",
  "天气预报说明天会下雨，请记得带伞。",
  "请帮我总结一下昨天会议的主要内容和决定。",
  "この関数は履歴から文脈を計算します。",
  "東京の天気は晴れで、気温は二十五度です。",
  "会議の資料を明日までに送ってください。",
  "오늘 서울의 날씨는 맑고 기온은 이십 도입니다.",
  "모델이 보는 문맥은 기록에서 계산됩니다.",
];

const JAPANESE = [
  "吾輩は猫である。名前はまだ無い。",
  "どこで生れたかとんと見当がつかぬ。",
  "何でも薄暗いじめじめした所でニャーニャー泣いていた事だけは記憶している。",
  "吾輩はここで始めて人間というものを見た。",
];

const EMOJI = [..."😀😂🥰😎🤔😴🤯🥳😭😡👍👎👏🙏💪🎉🔥🚀🐶🐱🦊🐼🌍🌞🌧🍎🍕🍣🏀🎸🚗🏠💡📚💰🔒"];

const name = (next: (below: number) => number) => WORDS[next(WORDS.length)] ?? "";

export const CORPORA: readonly Corpus[] = [
  corpus("English", 1, (next) => `${Array.from({ length: 4 + next(14) }, () => name(next)).join(" ")}. `),
  corpus("code", 2, (next) => (CODE[next(CODE.length)] ?? "").replace("index", name(next))),
  corpus("JSON", 3, (next) => {
    const row = {
      id: next(100_000),
      name: name(next),
      tags: [name(next), name(next)],
      ok: next(2) === 1,
      score: next(999) / 10,
    };
    return `${JSON.stringify(row)},`;
  }),
  corpus("base64", 4, (next) => Buffer.from(Array.from({ length: 57 }, () => next(256))).toString("base64")),
  corpus("CJK", 5, (next) => CJK[next(CJK.length)] ?? ""),
  corpus("Japanese", 7, (next) => JAPANESE[next(JAPANESE.length)] ?? ""),
  corpus("emoji", 6, (next) => EMOJI[next(EMOJI.length)] ?? ""),
];

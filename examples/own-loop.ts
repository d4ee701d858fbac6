// No server and no store: the thread is a value in your hands, and goes from one run into the next.
import { react, Thread } from "heddle";
import { scriptedModel } from "heddle/testing";

const before = Thread.fromMessages(
  [
    { role: "system", content: "You are a librarian." },
    { role: "user", content: "I like books about the sea." },
    { role: "assistant", content: "So do I." },
  ],
  { format: "openai-chat" },
);

const model = scriptedModel([
  { expect: { system: "You are a librarian.", lastUser: "Which one first?" }, text: "Moby-Dick." },
  { expect: { lastUser: "Who wrote it?" }, text: "Herman Melville." },
]);

const first = await react.run("Which one first?", { model }, { thread: before });
console.log(first.text);

const second = await react.run("Who wrote it?", { model }, { thread: first.thread });
console.log(second.text);
console.log(
  `${second.thread.toMessages({ format: "openai-chat" }).length} messages, ${second.thread.entryCount} entries`,
);

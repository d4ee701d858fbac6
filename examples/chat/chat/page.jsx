"use client";
// The page: a sidebar, the chat with branches and votes, and the document that a tool writes.
import { useChat } from "@ai-sdk/react";
import { chatTransport, useThread } from "heddle/react";
import { useCallback, useEffect, useState } from "react";

const transport = chatTransport({ api: "/api/chat" });

async function call(path, body, method = body === undefined ? "GET" : "POST") {
  const headers = { "content-type": "application/json" };
  const response = await fetch(`/api/${path}`, { method, headers, body: body && JSON.stringify(body) });
  if (!response.ok) throw new Error((await response.json()).error.message);
  return response.status === 204 ? undefined : response.json();
}

export function Page() {
  const [threads, setThreads] = useState();
  const [id, setId] = useState(() => crypto.randomUUID());
  const load = useCallback(() => call("threads").then(setThreads, () => setThreads(undefined)), []);
  useEffect(() => void load(), [load]);
  if (threads === undefined) return <SignIn onDone={load} />;
  return (
    <div className="app">
      <nav className="sidebar" aria-label="Chats">
        <button type="button" onClick={() => setId(crypto.randomUUID())}>
          New chat
        </button>
        {threads.map((thread) => (
          <div key={thread.id} className="row">
            <button type="button" aria-current={thread.id === id} onClick={() => setId(thread.id)}>
              {thread.title ?? "Untitled"}
            </button>
            <button
              type="button"
              aria-label={`Delete ${thread.title ?? "Untitled"}`}
              onClick={() => call(`threads/${thread.id}`, undefined, "DELETE").then(load)}
            >
              ×
            </button>
          </div>
        ))}
      </nav>
      <Chat key={id} id={id} onChange={load} />
    </div>
  );
}

function SignIn({ onDone }) {
  const submit = (event) => {
    event.preventDefault();
    void call("session", { user: new FormData(event.target).get("user") }).then(onDone);
  };
  return (
    <form onSubmit={submit}>
      <label>
        Your name <input name="user" required />
      </label>
      <button type="submit">Sign in</button>
    </form>
  );
}

function Chat({ id, onChange }) {
  const chat = useChat({ id, transport });
  const { siblings, switchBranch, stop, title, error } = useThread(chat, transport);
  const [edited, setEdited] = useState();
  const [votes, setVotes] = useState({});
  const [words, setWords] = useState("");
  const { messages, status } = chat;
  const isNew = messages.length === 0;
  useEffect(() => {
    if (status !== "ready" || isNew) return;
    // A vote that was given while these were read is newer than they are.
    void call(`votes/${id}`).then(
      (read) => setVotes((given) => ({ ...read, ...given })),
      () => undefined,
    );
  }, [id, status, isNew]);
  useEffect(() => void onChange(), [title, status, onChange]);

  const submit = (event) => {
    event.preventDefault();
    if (words.trim() === "") return;
    setWords("");
    setEdited(undefined);
    void chat.sendMessage({ text: words, ...(edited && { messageId: edited }) });
  };
  const vote = async (messageId, up) => {
    await call(`votes/${id}`, { messageId, up });
    setVotes((before) => ({ ...before, [messageId]: up }));
  };
  const edit = ({ id: messageId, parts }) => {
    setEdited(messageId);
    setWords(parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join(""));
  };
  const problem = chat.error ?? error;
  return (
    <>
      <main>
        <h1>{title ?? "New chat"}</h1>
        <ol className="messages" aria-live="polite">
          {messages.map((message) => (
            <li key={message.id} data-role={message.role}>
              {message.parts.map((part, index) => (
                <Part key={index} part={part} />
              ))}
              <Versions of={siblings[message.id]} switchBranch={switchBranch} />
              {message.role === "user" ? (
                <button type="button" onClick={() => edit(message)}>
                  Edit
                </button>
              ) : (
                <span className="votes">
                  {[true, false].map((up) => (
                    <button
                      key={String(up)}
                      type="button"
                      aria-pressed={votes[message.id] === up}
                      onClick={() => void vote(message.id, up)}
                    >
                      {up ? "Good" : "Bad"}
                    </button>
                  ))}
                  <button type="button" onClick={() => void chat.regenerate({ messageId: message.id })}>
                    Again
                  </button>
                </span>
              )}
            </li>
          ))}
        </ol>
        {problem && <p role="alert">{problem.message}</p>}
        <form onSubmit={submit}>
          <input aria-label="Message" value={words} onChange={({ target }) => setWords(target.value)} />
          <button type="submit">{edited ? "Save" : "Send"}</button>
          {status === "ready" || (
            <button type="button" onClick={() => void stop()}>
              Stop
            </button>
          )}
        </form>
      </main>
      <Document messages={messages} />
    </>
  );
}

function Part({ part }) {
  if (part.type === "text") return <p>{part.text}</p>;
  if (part.type === "steering-message") return <p>{part.parts.map(({ text }) => text)}</p>;
  if (part.type === "tool-writeDocument") return <p className="tool">{`Document: ${part.input?.title ?? "…"}`}</p>;
  return null;
}

function Versions({ of, switchBranch }) {
  if (of === undefined || of.count < 2) return null;
  const { index, count, lanes } = of;
  return (
    <span className="versions">
      <button type="button" disabled={index === 0} onClick={() => void switchBranch(lanes[index - 1])}>
        ‹
      </button>
      {`${index + 1} of ${count}`}
      <button type="button" disabled={index === count - 1} onClick={() => void switchBranch(lanes[index + 1])}>
        ›
      </button>
    </span>
  );
}

/** The newest document of the chat. It grows while the tool writes it, and is there after a reload. */
function Document({ messages }) {
  const part = messages.flatMap(({ parts }) => parts).findLast(({ type }) => type === "data-document");
  if (part === undefined) return null;
  const { title, text } = part.data;
  return (
    <aside aria-label="Document">
      <h2>{title}</h2>
      <pre>{text}</pre>
    </aside>
  );
}

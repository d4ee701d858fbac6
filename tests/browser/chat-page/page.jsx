// A page with `useChat`. All that it has of Heddle is the transport and the hook; with `?sdk` it has neither.
import { useChat } from "@ai-sdk/react";
import { DefaultChatTransport, lastAssistantMessageIsCompleteWithApprovalResponses } from "ai";
import { chatTransport, useThread } from "heddle/react";
import { StrictMode, useState } from "react";
import { createRoot } from "react-dom/client";

const query = new URLSearchParams(location.search);
const api = query.get("api");
const isOfSdk = query.has("sdk");
const transport = isOfSdk
  ? new DefaultChatTransport({ api })
  : chatTransport({ api, client: Number(query.get("client")) });
const sendAutomaticallyWhen = lastAssistantMessageIsCompleteWithApprovalResponses;

function useSdkOnly(chat) {
  const stop = async () => {
    await chat.stop();
    await fetch(`${api}/t/stop`, { method: "POST", body: "{}", headers: { "content-type": "application/json" } });
  };
  const respond =
    (approved) =>
    (_call, { id, reason }) =>
      chat.addToolApprovalResponse({ id, approved, reason });
  return { siblings: {}, status: null, stop, approve: respond(true), deny: respond(false) };
}

const useServer = isOfSdk ? useSdkOnly : (chat) => useThread(chat, transport);

function Chat({ messages }) {
  const chat = useChat({ id: "t", transport, messages, resume: isOfSdk, sendAutomaticallyWhen });
  const thread = useServer(chat);
  const [words, setWords] = useState("");
  const [files, setFiles] = useState(undefined);
  const [edited, setEdited] = useState(undefined);
  window.chat = { ...chat, loaded: thread.status };

  const submit = (event) => {
    event.preventDefault();
    if (words === "") return;
    setWords("");
    setFiles(undefined);
    setEdited(undefined);
    const text = { type: "text", text: words };
    const place = { type: "data-place", data: { city: "Oslo" } };
    const message = query.has("metadata")
      ? { parts: [text, place], metadata: { sentFrom: "page" } }
      : { text: words, files };
    void chat.sendMessage({ ...message, ...(edited && { messageId: edited }) });
  };

  return (
    <main>
      <ol id="messages">
        {chat.messages.map((message) => (
          <Message key={message.id} message={message} chat={chat} thread={thread} onEdit={setEdited} reason={words} />
        ))}
      </ol>
      <form onSubmit={submit}>
        <input id="words" value={words} onChange={({ target }) => setWords(target.value)} />
        <input id="files" type="file" onChange={({ target }) => setFiles(target.files)} />
        <button id="send" type="submit">
          Send
        </button>
      </form>
      <button id="stop" type="button" onClick={() => void thread.stop()}>
        Stop
      </button>
      <button id="retry" type="button" onClick={() => void chat.regenerate()}>
        Retry
      </button>
      <output id="status">{chat.status}</output>
      <output id="error">{chat.error?.message}</output>
    </main>
  );
}

function Message({ message, chat, thread, onEdit, reason }) {
  const { id, role, parts, metadata } = message;
  const siblings = thread.siblings[id];
  const turn = (step) => () => void thread.switchBranch(siblings.lanes[siblings.index + step]);
  return (
    <li data-role={role} data-mark={metadata?.heddle?.status} data-reason={metadata?.heddle?.reason}>
      {parts.map((part, index) => (
        <Part key={index} part={part} thread={thread} reason={reason} />
      ))}
      {siblings && (
        <nav>
          <button type="button" className="previous" onClick={turn(-1)} />
          <i>{`${siblings.index + 1} of ${siblings.count}`}</i>
          <button type="button" className="next" onClick={turn(1)} />
        </nav>
      )}
      {role === "user" ? (
        <button type="button" className="edit" onClick={() => onEdit(id)} />
      ) : (
        <button type="button" className="regenerate" onClick={() => void chat.regenerate({ messageId: id })} />
      )}
    </li>
  );
}

function Part({ part, thread, reason }) {
  if (part.type === "text") return <p>{part.text}</p>;
  if (part.type === "file") return <img alt={part.filename} src={part.url} />;
  if (part.type === "steering-message") return <p>{`(${part.parts.map(({ text }) => text).join("")})`}</p>;
  if (part.type === "data-steering-message") return <p>{`(${part.data.parts.map(({ text }) => text).join("")})`}</p>;
  if (part.type.startsWith("data-")) return <p>{`${part.type}=${JSON.stringify(part.data)}`}</p>;
  if (!part.type.startsWith("tool-")) return null;
  const { toolCallId, approval, state, input, output } = part;
  const decision = { id: approval?.id, ...(reason !== "" && { reason }) };
  return (
    <p>
      {`${part.type.slice("tool-".length)} ${JSON.stringify(input)} ${state}`}
      {output !== undefined && ` ${JSON.stringify(output)}`}
      {approval?.reason && ` because ${approval.reason}`}
      {state === "approval-requested" && (
        <>
          <button type="button" className="approve" onClick={() => void thread.approve(toolCallId, decision)} />
          <button type="button" className="deny" onClick={() => void thread.deny(toolCallId, decision)} />
        </>
      )}
    </p>
  );
}

const { messages } = isOfSdk ? await (await fetch(`${api}/t/messages`)).json() : {};
createRoot(document.getElementById("root")).render(
  <StrictMode>
    <Chat messages={messages} />
  </StrictMode>,
);

import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { keepToken } from "../data/access.ts";
import { Icon } from "../parts/icon.tsx";
import { Empty, Loading, Problem } from "../parts/states.tsx";
import { info, refusedCode, source, thread } from "../state/studio.ts";
import { ContextDialog } from "./context-dialog.tsx";
import { Boundary, Unexpected } from "./errors.tsx";
import { Help } from "./help.tsx";
import { Inspector } from "./inspector.tsx";
import { listenToKeys } from "./keys.ts";
import { panels } from "./panels.ts";
import { Sidebar } from "./sidebar.tsx";
import { Start } from "./start.tsx";
import { ThreadPage } from "./thread-page.tsx";
import { Toasts } from "./toasts.tsx";

export function App() {
  useEffect(listenToKeys, []);
  const state = info.value;
  if (state.state === "loading") return <Loading what="Studio" />;
  if (state.state === "failed") {
    return (
      <main class="lonely">
        <PlainHttp />
        {state.code === "unauthorized" ? (
          <TokenForm refused={refusedCode.value} />
        ) : (
          <Problem {...state} retry={() => location.reload()} />
        )}
      </main>
    );
  }
  const open = thread.value;
  const isFile = source.value.kind === "file";
  const classes = [
    "app",
    isFile && "is-file",
    panels.list.value && "list-open",
    panels.inspector.value && "inspector-open",
  ];
  return (
    <div class={classes.filter(Boolean).join(" ")}>
      <button type="button" class="skip" onClick={() => document.getElementById("main")?.focus()}>
        Skip to the thread
      </button>
      {!isFile && <Sidebar />}
      <main id="main" tabIndex={-1}>
        <PlainHttp />
        {open ? (
          <Boundary key={open.id}>
            <ThreadPage key={open.id} thread={open} />
            {open.source.act && <ContextDialog thread={open} act={open.source.act} />}
          </Boundary>
        ) : isFile ? (
          <Empty title="There is no thread in this file" />
        ) : (
          <Start />
        )}
      </main>
      {open && panels.inspector.value && (
        <Boundary key={open.id}>
          <Inspector thread={open} />
        </Boundary>
      )}
      <Help />
      <Toasts />
      <Unexpected />
    </div>
  );
}

const LOOPBACK = /^(localhost|.*\.localhost|127(\.\d{1,3}){3}|\[::1\])$/;
const isPlainHttp = signal(location.protocol === "http:" && !LOOPBACK.test(location.hostname));

/** A warning in a page that came unencrypted over a network. */
function PlainHttp() {
  if (!isPlainHttp.value) return null;
  return (
    <p class="plain-http" role="note">
      <Icon name="shield" size={14} />
      <span>
        This page came over plain http. Others in the network can read the token and the threads, and change what you
        see. Put TLS in front of Studio.
      </span>
      <button type="button" class="ghost" aria-label="Dismiss" onClick={() => (isPlainHttp.value = false)}>
        <Icon name="close" size={14} />
      </button>
    </p>
  );
}

/** Asks the user for the token. Shown in a browser that has not opened the one-time address. */
function TokenForm({ refused }: { readonly refused: string | undefined }) {
  return (
    <form
      class="state"
      onSubmit={(event) => {
        event.preventDefault();
        keepToken(String(new FormData(event.currentTarget).get("token")));
        location.reload();
      }}
    >
      <p class="state-title">This Studio asks for its token</p>
      {refused !== undefined && <p>{refused}</p>}
      <label for="token">Studio printed the token when it started, below its address.</label>
      <input id="token" name="token" type="password" autocomplete="off" required />
      <button type="submit" class="primary">
        Open
      </button>
    </form>
  );
}

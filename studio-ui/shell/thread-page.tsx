import { useEffect } from "preact/hooks";
import { visibleText } from "../../src/thread/hidden-characters.ts";
import { CallView } from "../calls/call-view.tsx";
import { ChatView } from "../chat/chat-view.tsx";
import { Icon } from "../parts/icon.tsx";
import { Problem } from "../parts/states.tsx";
import { TabBar } from "../parts/tab-bar.tsx";
import type { OpenThread } from "../state/open-thread.ts";
import { go, route, TABS, type Tab } from "../state/route.ts";
import { TimelineView } from "../timeline/timeline-view.tsx";
import { WhatIfView } from "../what-if/what-if-view.tsx";
import { Boundary } from "./errors.tsx";
import { panels } from "./panels.ts";
import { stateOf } from "./sidebar.tsx";
import { ThreadMenu } from "./thread-menu.tsx";

const FACES = TABS.map(({ tab, title }) => ({ id: tab, title }));

export function ThreadPage({ thread }: { readonly thread: OpenThread }) {
  const { tab } = route.value;
  const state = thread.detail.value;
  const detail = state.state === "there" ? state.value : undefined;
  const title = state.state === "failed" ? "Unknown thread" : detail?.title || "Untitled";
  const status = thread.isBusy.value
    ? (thread.live.value?.state ?? "running")
    : detail && stateOf({ ...detail, live: false });
  useEffect(() => {
    document.title = `${visibleText(title)} · Heddle`;
  }, [title]);
  return (
    <>
      <header class="thread-head">
        {thread.source.kind === "server" && (
          <button
            type="button"
            class="ghost only-narrow"
            aria-label="Threads"
            onClick={() => (panels.list.value = true)}
          >
            <Icon name="menu" />
          </button>
        )}
        <h1 title={thread.id}>{title}</h1>
        {status && status !== "idle" && (
          <span class={`pill state-${status}`} role="status">
            {status}
          </span>
        )}
        {thread.link.value === "lost" && (
          <span class="pill warn" role="status" title="Reconnecting">
            connection lost
          </span>
        )}
        <span class="spacer" />
        <TabBar
          label="Views of the thread"
          tabs={FACES}
          selected={tab}
          onSelect={(next) => go({ threadId: thread.id, tab: next })}
        />
        {state.state === "there" && <ThreadMenu thread={thread} />}
        <button
          type="button"
          class="ghost"
          title="Inspector (i)"
          aria-label="Inspector"
          aria-pressed={panels.inspector.value}
          onClick={() => (panels.inspector.value = !panels.inspector.value)}
        >
          <Icon name="panel" />
        </button>
      </header>
      <div class="view" role="tabpanel" aria-label={TABS.find((each) => each.tab === tab)?.title}>
        <Boundary key={tab}>
          {state.state === "failed" ? (
            <Problem {...state} retry={() => void thread.refresh()}>
              <a class="button" href="#/">
                All threads
              </a>
            </Problem>
          ) : (
            <View tab={tab} thread={thread} />
          )}
        </Boundary>
      </div>
    </>
  );
}

function View({ tab, thread }: { readonly tab: Tab; readonly thread: OpenThread }) {
  switch (tab) {
    case "chat":
      return <ChatView thread={thread} />;
    case "timeline":
      return <TimelineView thread={thread} />;
    case "saw":
      return <CallView thread={thread} />;
    case "what-if":
      return <WhatIfView thread={thread} />;
    default:
      return tab satisfies never;
  }
}

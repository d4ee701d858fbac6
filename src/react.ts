import "./thread/node-version.ts";

export type { ChatStreams } from "./client/chat-streams.ts";
export {
  type FollowedState,
  type FollowedThread,
  type FollowThreadOptions,
  followThread,
  type PageMessage,
} from "./client/follow-thread.ts";
export { ChatError, type ChatTransportOptions, chatTransport, type ThreadTransport } from "./client/transport.ts";
export { type ReactChat, type ReactThread, useThread } from "./client/use-thread.ts";
export type { UIChatMessage } from "./runtime/ui-messages/message.ts";
export type { MessageSiblings } from "./runtime/ui-messages/message-tree.ts";

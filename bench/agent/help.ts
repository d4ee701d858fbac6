export const HELP = `The agent bench: what an agent costs around a model that answers at once, beside other projects.

  npm run bench -- agent [options]
  node bench/agent/agent.bench.ts [options]      after npm run build

  --quick          small sizes, without other projects: shows that everything runs, not how fast it is
  --only=a,b       only the tables whose id begins with one of these words: one, growing, many, idle, live, after-kill,
                   branches, calls, listeners, long-turns, chat-turn
  --peers          other projects too, although --quick leaves them out
  --no-peers       without other projects
  --dir=<folder>   where the database files go (about 1 GB, removed at the end); default: the system's temporary folder
  --json           one JSON object instead of text
  --check          exit code 1 when a budget is missed
  --help           this text`;

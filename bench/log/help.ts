export const HELP = `The log bench: appends, reads and bytes of the stores, each beside a baseline measured in the same run.

  npm run bench -- log [options]
  node bench/log/log.bench.ts [options]      after npm run build

  --quick          small sizes, without other projects: shows that everything runs, not how fast it is
  --only=a,b       only the tables whose id begins with one of these words
  --peers          other projects too, although --quick leaves them out
  --no-peers       without other projects
  --dir=<folder>   where the database files go (about 3 GB, removed at the end); default: the system's temporary folder
  --json           one JSON object instead of text
  --check          exit code 1 when a budget is missed
  --help           this text`;

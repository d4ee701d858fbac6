export const HELP = `The studio bench: how long the page and the HTTP API take where there is much to show.

  npm run bench -- studio [options]
  node bench/studio/studio.bench.ts [options]      after npm run build

  --quick          small sizes: shows that everything runs, not how fast it is
  --only=a,b       only the tables whose id begins with one of these words: page, api
  --dir=<folder>   where the database files go (about 1 GB, removed at the end); default: the system's temporary folder
  --json           one JSON object instead of text
  --check          exit code 1 when a budget is missed
  --help           this text`;

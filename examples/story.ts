// The first story: a person asks, the model answers, the thread remembers.
// Run it with `npm start`; it needs no API key.

console.log("The story is not written yet.");

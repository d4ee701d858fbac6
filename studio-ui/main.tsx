import { options, render } from "preact";
import { showHidden } from "./parts/visible-text.ts";
import { App } from "./shell/app.tsx";
import { Boundary, listenToErrors } from "./shell/errors.tsx";
import { start } from "./state/studio.ts";
import "./css/app.css";

const place = document.getElementById("app");
if (place === null) throw new Error("The page has no place for the app.");
const before = options.vnode;
// Every text of the page is made here, so no value is shown otherwise than it is.
options.vnode = (node) => {
  before?.(node);
  showHidden(node);
};
listenToErrors();
render(
  <Boundary>
    <App />
  </Boundary>,
  place,
);
void start();

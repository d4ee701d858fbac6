import { render } from "preact";
import { App } from "./shell/app.tsx";
import { Boundary, listenToErrors } from "./shell/errors.tsx";
import { start } from "./state/studio.ts";
import "./css/app.css";

const place = document.getElementById("app");
if (place === null) throw new Error("The page has no place for the app.");
listenToErrors();
render(
  <Boundary>
    <App />
  </Boundary>,
  place,
);
void start();

// The script of the page, where no framework mounts it.
import { createRoot } from "react-dom/client";
import { Page } from "./chat/page.jsx";

createRoot(document.getElementById("root")).render(<Page />);

import { defineElements } from "../elements/define.ts";
import { ParleyPage } from "./page.ts";

defineElements();
customElements.get("parley-page") ?? customElements.define("parley-page", ParleyPage);

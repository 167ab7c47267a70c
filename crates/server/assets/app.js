// Makes the pages live. Everything here is an addition: without it the pages can be read and used.
import { startTimes } from "./times.js";
import { startLive } from "./live.js";
import { startRing } from "./ring.js";
import { startPalette } from "./palette.js";
import { startKeys } from "./keys.js";
import { startSelection } from "./select.js";
import { startForm } from "./form.js";
import { startCopy } from "./copy.js";
import { startRefill } from "./refill.js";
import { startViews } from "./views.js";

startTimes();
startLive();
startRing();
startPalette();
startKeys();
startSelection();
startForm();
startCopy();
startRefill();
startViews();

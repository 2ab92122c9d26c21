// SPDX-License-Identifier: GPL-2.0-or-later
// On a wide screen Play stays visible beside another section.
import { $ } from "./desk.js";
import { on } from "./hands.js";

const names = ["play", "sound", "link", "all"];
const wide = matchMedia("(min-width: 1000px)");
let current = "play";

export function show(name) {
	current = name;
	if (wide.matches && name === "play") current = "sound";
	for (const one of names) {
		const tab = $(`tab-${one}`);
		tab.setAttribute("aria-selected", String(one === current));
		tab.tabIndex = one === current ? 0 : -1;
		$(one).hidden = one !== current && !(wide.matches && one === "play");
	}
	// Put the news where they can come and go without moving a control under a finger.
	($("play").hidden ? document.querySelector("header") : document.querySelector(".beat-box")).append($("news"));
}

export function startTabs() {
	const tabs = names.map((name) => $(`tab-${name}`));
	tabs.forEach((tab, place) => {
		on(tab, "click", () => show(names[place]));
		on(tab, "keydown", (event) => {
			const all = tabs.filter((one) => one.offsetParent !== null);
			const here = all.indexOf(tab);
			const next = { ArrowRight: here + 1, ArrowLeft: here - 1, Home: 0, End: all.length - 1 }[event.key];
			if (next === undefined) return;
			event.preventDefault();
			const target = all[(next + all.length) % all.length];
			target.focus();
			target.click();
		});
	});
	on(wide, "change", () => show(current === "sound" && !wide.matches ? "play" : current));
	show("play");
}

// SPDX-License-Identifier: GPL-2.0-or-later
// Chooses light or dark before the first paint: this browser's setting, or else the device's.
"use strict";
{
	const light = matchMedia("(prefers-color-scheme: light)");
	const dress = () => {
		let look;
		try {
			look = JSON.parse(localStorage.getItem("tactus look"));
		} catch {}
		document.documentElement.dataset.theme = { "dark room": "dark", sunlight: "light" }[look] || (light.matches ? "light" : "dark");
	};
	light.addEventListener("change", dress);
	addEventListener("look", dress);
	dress();
}

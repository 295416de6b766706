"use strict";
// A surface that turns: quadrilaterals sorted from far to near, a path above them, dragging changes the angle.
for (const canvas of document.querySelectorAll("canvas[data-surface]")) {
  const { axis, height, path } = JSON.parse(document.getElementById(canvas.dataset.surface).textContent);
  const pen = canvas.getContext("2d");
  const flat = height.flat();
  const low = Math.min(...flat), high = Math.max(...flat), first = axis[0], wide = axis[axis.length - 1] - first;
  let around = 0.65, above = 0.55, held = null;
  const unit = (x, y, z) => [2 * (x - first) / wide - 1, 2 * (y - first) / wide - 1, 1.1 * (z - low) / (high - low) - 0.5];
  const place = (x, y, z) => {
    const [a, b, c] = unit(x, y, z), s = Math.sin(around), t = Math.cos(around);
    const across = a * t - b * s, depth = a * s + b * t;
    const size = 0.3 * Math.min(canvas.width, canvas.height * 1.25);
    return [canvas.width / 2 + size * across, canvas.height / 2 - size * (c * Math.cos(above) + depth * Math.sin(above)), depth];
  };
  const colour = (share) => {
    const stops = [[0, 34, 78], [87, 92, 109], [165, 156, 116], [254, 232, 56]];
    const at = Math.min(share, 0.9999) * 3, i = Math.floor(at), t = at - i;
    return `rgb(${stops[i].map((v, k) => Math.round(v + t * (stops[i + 1][k] - v))).join(",")})`;
  };
  const draw = () => {
    const ratio = window.devicePixelRatio || 1;
    canvas.width = canvas.clientWidth * ratio;
    canvas.height = canvas.clientHeight * ratio;
    pen.clearRect(0, 0, canvas.width, canvas.height);
    const faces = [];
    for (let j = 0; j + 1 < axis.length; j++) {
      for (let i = 0; i + 1 < axis.length; i++) {
        const corners = [[i, j], [i + 1, j], [i + 1, j + 1], [i, j + 1]].map(([p, q]) => place(axis[p], axis[q], height[q][p]));
        const mean = (height[j][i] + height[j + 1][i + 1]) / 2;
        faces.push([corners.reduce((sum, c) => sum + c[2], 0), corners, Math.sqrt((mean - low) / (high - low))]);
      }
    }
    faces.sort((a, b) => b[0] - a[0]);
    for (const [, corners, share] of faces) {
      pen.beginPath();
      corners.forEach(([x, y], k) => (k ? pen.lineTo(x, y) : pen.moveTo(x, y)));
      pen.closePath();
      pen.fillStyle = pen.strokeStyle = colour(share);
      pen.fill();
      pen.lineWidth = 0.6 * ratio;
      pen.stroke();
    }
    pen.strokeStyle = pen.fillStyle = "#D55E00";
    pen.lineWidth = 2.5 * ratio;
    pen.beginPath();
    path.forEach(([x, y, z], k) => { const [a, b] = place(x, y, z); k ? pen.lineTo(a, b) : pen.moveTo(a, b); });
    pen.stroke();
    for (const [x, y, z] of path) {
      const [a, b] = place(x, y, z);
      pen.beginPath();
      pen.arc(a, b, 3 * ratio, 0, 7);
      pen.fill();
    }
    pen.fillStyle = "#1d1f21";
    pen.font = `${13 * ratio}px system-ui, sans-serif`;
    pen.textAlign = "center";
    const end = axis[axis.length - 1], middle = first + wide / 2, out = wide * 0.16;
    for (const [word, x, y] of [["Δ₀", middle, first - out], ["Δ₁", first - out, middle], ["−10", first, first - out / 2], ["2", end, first - out / 2], ["2", first - out / 2, end]]) {
      const [a, b] = place(x, y, low);
      pen.fillText(word, a, b);
    }
    pen.textAlign = "left";
    pen.fillText(`free energy F: ${Math.round(low)} (dark) to ${Math.round(high)}`, 10 * ratio, 20 * ratio);
  };
  canvas.addEventListener("pointerdown", (event) => { held = [event.clientX, event.clientY]; canvas.setPointerCapture(event.pointerId); });
  canvas.addEventListener("pointermove", (event) => {
    if (!held) return;
    around += (event.clientX - held[0]) / 120;
    above = Math.min(1.4, Math.max(0.1, above + (event.clientY - held[1]) / 200));
    held = [event.clientX, event.clientY];
    draw();
  });
  canvas.addEventListener("pointerup", () => { held = null; });
  canvas.addEventListener("keydown", (event) => {
    const turn = { ArrowLeft: -0.15, ArrowRight: 0.15 }[event.key];
    if (turn) { around += turn; draw(); event.preventDefault(); }
  });
  window.addEventListener("resize", draw);
  draw();
}

"""Compares pictures as `lanista data export` reads them with Pillow: pillow_check.py LANISTA.

Orientation is that of ImageOps.exif_transpose, CMYK is converted by Image.convert, and transparent pixels are laid over
the background. Pixels of PNG must be equal. Pixels of JPEG may differ by 2, because Pillow may have another libjpeg.
"""
import pathlib
import subprocess
import sys
import tempfile

try:
    import numpy as np
    from PIL import Image, ImageOps
except ImportError as error:
    print("skipped: Pillow or NumPy is not installed:", error)
    sys.exit(77)

SIDE = 16
BACKGROUNDS = {"black": (0, 0, 0), "white": (255, 255, 255), "1E64C8": (0x1E, 0x64, 0xC8)}


def pixels(channels, seed):
    """A smooth picture with a different value in each corner, so that JPEG changes it little."""
    y, x = np.mgrid[0:SIDE, 0:SIDE]
    planes = [(40 + 30 * c + 9 * y + 3 * x + 11 * seed) % 200 + 20 for c in range(channels)]
    return np.stack(planes, axis=-1).astype(np.uint8).squeeze()


def exif_of(orientation):
    exif = Image.Exif()
    exif[0x0112] = orientation
    return exif


def write_pictures(folder):
    """Writes pictures of each mode and orientation, half of them in each class."""
    pictures = []
    for mode, channels in {"L": 1, "LA": 2, "RGB": 3, "RGBA": 4}.items():
        pictures.append((Image.fromarray(pixels(channels, len(pictures)), mode), "png", {}))
    palette = Image.fromarray(pixels(3, 5), "RGB").quantize(16)
    pictures.append((palette, "png", {}))
    pictures.append((palette, "png", {"transparency": 3}))
    pictures.append((palette, "png", {"transparency": bytes(range(0, 160, 10))}))
    pictures.append((Image.fromarray(pixels(1, 6), "L"), "png", {"transparency": 100}))
    pictures.append((Image.fromarray(pixels(1, 7), "L").convert("1"), "png", {}))
    for orientation in range(1, 9):
        for kind, mode, channels in (("jpg", "RGB", 3), ("jpg", "L", 1), ("png", "RGB", 3), ("jpg", "CMYK", 4)):
            picture = Image.fromarray(pixels(channels, orientation), mode)
            options = {"exif": exif_of(orientation)}
            pictures.append((picture, kind, options if kind == "png" else {**options, "quality": 95}))
    for progressive in (False, True):
        picture = Image.fromarray(pixels(4, 9), "CMYK")
        pictures.append((picture, "jpg", {"quality": 95, "progressive": progressive}))
    paths = []
    for number, (picture, kind, options) in enumerate(pictures):
        path = folder / ("ab"[number % 2]) / f"{number:03}.{kind}"
        path.parent.mkdir(parents=True, exist_ok=True)
        picture.save(path, "JPEG" if kind == "jpg" else "PNG", **options)
        paths.append(path)
    return sorted(paths)


def by_pillow(path, background):
    """The picture as Pillow reads it: [3, SIDE, SIDE]."""
    picture = ImageOps.exif_transpose(Image.open(path))
    if picture.mode in ("LA", "RGBA", "PA") or "transparency" in picture.info:
        under = Image.new("RGB", picture.size, background)
        over = picture.convert("RGBA")
        under.paste(over, mask=over.getchannel("A"))
        picture = under
    return np.asarray(picture.convert("RGB")).transpose(2, 0, 1).astype(int)


def main():
    lanista = sys.argv[1]
    checked = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        paths = write_pictures(folder / "pictures")
        for option, background in BACKGROUNDS.items():
            source = f"folder:{folder}/pictures?color=rgb&background={option}"
            out = folder / option
            subprocess.run([lanista, "data", "export", source, "--npy", str(out)], check=True, capture_output=True)
            read = np.load(out / "x.npy")
            assert read.shape == (len(paths), 3, SIDE, SIDE), read.shape
            for path, picture in zip(paths, read):
                difference = np.abs(picture - by_pillow(path, background)).max()
                assert difference <= (0 if path.suffix == ".png" else 2), (path.name, option, difference)
                checked += 1
    print(f"{checked} pictures are as in Pillow")


main()

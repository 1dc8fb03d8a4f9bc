"""Security of the page, and its behaviour when the server is down."""

import hashlib
import html
from pathlib import Path
from urllib.parse import urlencode

from playwright.sync_api import FilePayload, Page, Request, expect

from rejoinder.server.routes import PAGE, POLICY
from tests.browser import Open, ask, fill
from tests.server.running import serving

HOSTILE = (
    'The <b>vault</b> opens with <img src=x onerror="window.hacked = 1"> the word '
    "<script>window.hacked = 1</script> sesame &amp; <a href='javascript:alert(1)'>salt</a>."
)
FILE = FilePayload(name="mill.txt", mimeType="text/plain", buffer=b"The mill stands still.")


def test_markup_in_a_document_is_text(open_page: Open) -> None:
    page = open_page("#documents")
    page.wait_for_selector("#documents-list li")
    name = "<img src=x onerror='window.hacked = 1'>.txt"
    page.set_input_files(
        "#files", {"name": name, "mimeType": "text/plain", "buffer": HOSTILE.encode()}
    )
    expect(page.locator("#uploads-list .result")).to_have_text("added: 1 sentence")
    expect(page.locator("#uploads-list .title")).to_have_text(name)
    page.fill("#filter", "onerror")
    expect(page.locator("#documents-list li")).to_have_count(1)
    expect(page.locator("#documents-list .path")).to_have_text(f"uploaded:{name}")

    page.click("nav >> text=Ask")
    ask(page, "Which word opens the <script>window.hacked = 1</script> vault?")

    expect(page.locator(".answer mark").first).to_have_text(HOSTILE)
    assert page.locator("main :is(img, script, a[href^=javascript])").count() == 0
    assert page.evaluate("window.hacked") is None


def test_names_titles_metadata_and_anchors_of_documents_are_text(
    open_page: Open, tmp_path: Path
) -> None:
    image = "<img src=x onerror='window.hacked = 1'>"
    escaped = html.escape(image)
    text = (
        f"<html><head><title>{escaped}</title></head><body><h1>{escaped}</h1>"
        f'<h2 id="{escaped}">{escaped}</h2><p>The vault opens at {{}}.</p></body></html>'
    )
    key = "<b>key</b>"
    metadata = {"url": "javascript:window.hacked = 1", key: image}
    fill(tmp_path / "index", "Nothing else is here.")
    options = (str(tmp_path / "index"), "--scorer", "jaccard", "--workers", "1")
    with serving(tmp_path, *options) as running:
        page = open_page(at=running.address)
        for number, hour in enumerate(("noon", "dusk")):
            meta = [f"{name}={value}{'!' * number}" for name, value in metadata.items()]
            query = urlencode({"name": f"{image}/{number}.html", "meta": meta}, doseq=True)
            url = f"{running.address}/v1/documents?{query}"
            assert page.request.post(url, data=text.format(hour)).json()["what"] == "added"

        def check() -> None:
            assert page.locator(":is(main, dialog) :is(img, b, [href^=javascript])").count() == 0
            assert page.evaluate("window.hacked") is None

        page.reload()
        ask(page, "When does the vault open?")
        expect(page.locator(".source").first).to_contain_text(image)
        expect(page.locator(".original")).to_have_count(0)
        page.locator("#filters summary", has_text=key).click()
        check()
        page.locator("#filters label", has_text=f"{image}!").click()
        expect(page.locator("#filters .chosen summary")).to_have_text(f"{key}: {image}!")
        expect(page.locator("mark")).to_have_text(["The vault opens at dusk."])
        check()
        page.locator(".source").first.click()
        expect(page.locator("#reading-title")).to_have_text(image)
        expect(page.locator(".metadata")).to_contain_text(f"{image}!")
        expect(page.locator("#reading mark")).to_have_text("The vault opens at dusk.")
        check()
        page.click("nav >> text=Documents")
        row = page.locator("#documents-list li").first
        expect(row.locator(".path")).to_have_text(f"uploaded:{image}/1.html")
        row.get_by_role("button").click()
        expect(page.locator("#removing-name")).to_have_text(image)
        check()


def test_policy_blocks_inline_scripts(page: Page) -> None:
    violated = page.evaluate("""async () => {
        const seen = new Promise((resolve) =>
            addEventListener("securitypolicyviolation", (event) => resolve(event.blockedURI)));
        const script = document.createElement("script");
        script.textContent = "window.hacked = 1";
        document.body.append(script);
        return await seen;
    }""")

    assert violated == "inline"
    assert page.evaluate("window.hacked") is None


def test_every_file_carries_the_policy(page: Page, address: str) -> None:
    assert "unsafe" not in POLICY
    assert POLICY.startswith("default-src 'none'")
    for path in sorted(PAGE.iterdir()):
        reply = page.request.get(f"{address}/{path.name}")
        assert reply.headers["content-security-policy"] == POLICY
        assert reply.headers["x-content-type-options"] == "nosniff"


def test_page_is_small_and_contacts_no_other_host(open_page: Open, address: str) -> None:
    page = open_page()
    page.wait_for_selector(".invitation:has-text('sentence')")
    requests: list[Request] = []
    page.on("request", lambda request: requests.append(request))
    page.reload()
    page.wait_for_selector(".invitation:has-text('sentence')")
    ask(page, "How hot is green tea brewed?")

    assert len(requests) > len(list(PAGE.glob("*.js")))
    assert {request.url.split("/")[2] for request in requests} == {address.split("/")[2]}
    assert sum(path.stat().st_size for path in PAGE.iterdir()) < 120_000


def test_page_waits_for_a_server_that_is_down(open_page: Open, tmp_path: Path) -> None:
    folder = tmp_path / "index"
    options = (str(folder), "--scorer", "jaccard", "--workers", "1")
    fill(folder, "Green tea is brewed at 75 degrees. Bees can dance well.")
    with serving(tmp_path, *options) as running:
        page, other = open_page(at=running.address), open_page("#documents", at=running.address)
        ask(page, "How hot is tea?")
        expect(page.locator("mark").first).to_contain_text("75 degrees")
        expect(other.locator("#documents-list li")).to_have_count(1)
        running.process.kill()
        running.process.wait()

        page.fill("#question", "What do bees do?")
        page.press("#question", "Enter")
        other.set_input_files("#files", FILE)

        expect(page.locator("#connection")).to_contain_text("The server does not answer.")
        expect(page.locator("#status")).to_contain_text("Your question is kept.")
        expect(page.locator("#question")).to_have_value("What do bees do?")
        expect(page.locator("mark").first).to_contain_text("75 degrees")
        expect(other.locator("#connection")).to_be_visible()
        port = int(running.address.rpartition(":")[2])

    with serving(tmp_path, *options, port=port):
        expect(page.locator("mark").first).to_have_text("Bees can dance well.")
        expect(page.locator("#connection")).to_be_hidden()
        expect(other.locator("#uploads-list .result")).to_have_text("added: 1 sentence")
        expect(other.locator("#documents-list li")).to_have_count(2)


def test_a_server_without_an_index_has_paste_only(open_page: Open, tmp_path: Path) -> None:
    with serving(tmp_path, "--scorer", "jaccard", "--workers", "1") as running:
        page = open_page("#documents", at=running.address)
        expect(page.locator("#text")).to_be_visible()
        expect(page.locator("#documents")).to_be_hidden()
        expect(page.locator("nav a:visible")).to_have_text(["Paste"])


def test_page_asks_for_a_key(open_page: Open, tmp_path: Path) -> None:
    keys = tmp_path / "keys.txt"
    keys.write_text(f"sha256:{hashlib.sha256(b'open-sesame').hexdigest()} tests\n")
    options = ("--scorer", "jaccard", "--workers", "1", "--keys", str(keys))
    with serving(tmp_path, *options) as running:
        page = open_page(at=running.address)
        page.fill("#key", "wrong")
        page.press("#key", "Enter")
        expect(page.locator("#unlocking-problem")).to_contain_text("unknown API key")
        page.fill("#key", "open-sesame")
        page.press("#key", "Enter")
        expect(page.locator("#text")).to_be_visible()
        page.fill("#text", "Bees dance.")
        ask(page, "What do bees do?")
        expect(page.locator("mark").first).to_have_text("Bees dance.")

//! The providers from outside: with a model where one is installed, with real processes,
//! and with servers on this machine.

mod endpoint;
mod fetch;
mod minilm;
mod parsers;

#[test]
fn what_providers_do_can_be_done_on_any_thread() {
    fn sendable<T: Send>(_: &T) {}
    fn shareable<T: Send + Sync + 'static>(_: &T) {}

    let embedder = providers::Embedder::hash(4);
    let pool = providers::ParserPool::new(providers::ParserOptions::new("/nowhere", []));
    let fetcher = providers::Fetcher::scripted([]);

    shareable(&embedder);
    shareable(&pool);
    shareable(&fetcher);
    sendable(&embedder.embed_passages(&["a"]));
    sendable(&embedder.embed_query("a"));
    sendable(&pool.parse("text", "a.txt", Vec::new()));
    sendable(&fetcher.get("", &providers::FetchLimits::default()));
    sendable(&providers::models::install(
        std::path::Path::new("/nowhere"),
        |_| {},
    ));
}

//! A store with files keeps every promise of a store.

use crate::kit::MirrorWorld;

#[tokio::test]
async fn around_a_store_in_memory() {
    let worlds = std::sync::Mutex::new(Vec::new());
    store::suite::run(|| {
        let world = MirrorWorld::new();
        let process = world.process();
        worlds.lock().unwrap().push(world);
        process
    })
    .await;
    let notes: Vec<String> = worlds.lock().unwrap().iter().flat_map(MirrorWorld::notes).collect();
    // The suite has ids that no file name can tell apart, and an empty one; only that is a reason for a note.
    let alike =
        |note: &String| note.contains("it belongs to session") || note.contains("Z_.jsonl had no readable head");
    let others: Vec<String> = notes.into_iter().filter(|note| !alike(note)).collect();
    assert_eq!(others, Vec::<String>::new());
}

#[tokio::test]
async fn around_a_store_on_disk() {
    let worlds = std::sync::Mutex::new(Vec::new());
    store::suite::run(|| {
        let world = MirrorWorld::on_disk();
        let process = world.process();
        worlds.lock().unwrap().push(world);
        process
    })
    .await;
}

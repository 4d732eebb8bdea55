//! A store with files keeps every promise of a store.

use crate::kit::World;

#[tokio::test]
async fn around_a_store_in_memory() {
    let worlds = std::sync::Mutex::new(Vec::new());
    store::suite::run(|| {
        let world = World::new();
        let process = world.process();
        worlds.lock().unwrap().push(world);
        process
    })
    .await;
    let notes: Vec<String> = worlds.lock().unwrap().iter().flat_map(World::notes).collect();
    assert_eq!(notes, Vec::<String>::new());
}

#[tokio::test]
async fn around_a_store_on_disk() {
    let worlds = std::sync::Mutex::new(Vec::new());
    store::suite::run(|| {
        let world = World::on_disk();
        let process = world.process();
        worlds.lock().unwrap().push(world);
        process
    })
    .await;
}

SELECT q.[Queue], q.[Preset], q.[Spec], q.[RenderedBy] FROM {{ object("QueueSpec") }} AS q ORDER BY q.[Queue]
